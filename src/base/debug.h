/* base/debug.h — HN_DEBUG_BUILD: 1 in builds that check their own invariants (with AddressSanitizer, or -DHN_DEBUG). */
#ifndef HN_BASE_DEBUG_H
#define HN_BASE_DEBUG_H

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HN_DEBUG_BUILD 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(HN_DEBUG)
#define HN_DEBUG_BUILD 1
#endif
#ifndef HN_DEBUG_BUILD
#define HN_DEBUG_BUILD 0
#endif

#endif
