/* toy/toy.h — the toy front end. */
#ifndef HN_TOY_H
#define HN_TOY_H

#include "front/front.h"

extern const hn_front hn_front_toy;

#endif
