/* bench/program/old_glibc.h — names of functions as old versions of glibc have them, so that the program, built here,
 * runs with any glibc since 2.17. Included before everything else in a build with HN_OLD_GLIBC (Makefile). */
#ifndef HN_OLD_GLIBC_H
#define HN_OLD_GLIBC_H

#if defined __x86_64__ && defined __linux__
__asm__(".symver dlopen,dlopen@GLIBC_2.2.5\n"
        ".symver dlsym,dlsym@GLIBC_2.2.5\n"
        ".symver dlclose,dlclose@GLIBC_2.2.5\n"
        ".symver dlerror,dlerror@GLIBC_2.2.5\n"
        ".symver __libc_start_main,__libc_start_main@GLIBC_2.2.5\n"
        ".symver fmod,fmod@GLIBC_2.2.5\n");
#else
#error "only glibc on x86-64 has these versions"
#endif

#endif
