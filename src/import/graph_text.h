/* import/graph_text.h — the text form of graphs (docs/ir.md) as a front end. */
#ifndef HN_GRAPH_TEXT_H
#define HN_GRAPH_TEXT_H

#include "front/front.h"

extern const hn_front hn_front_graph_text;

#endif
