#!/usr/bin/env python3
"""tests/py/stats.t: the statistics of hone/stat.h against SciPy and NumPy on random cases, through libhone.so. TAP.

Every figure must agree to 1e-9 of its size (p-values too, however small). HONE_SEED repeats a run with another seed."""
import ctypes
import os
import sys
import warnings

ROOT = os.environ.get("HONE_ROOT", os.path.realpath(os.path.join(os.path.dirname(os.path.realpath(__file__)), "../..")))
BUILD = os.environ.get("HONE_BUILD", os.path.join(ROOT, "build"))
try:
    import numpy as np
    import scipy
    from scipy import stats
except ImportError:
    own = os.path.join(BUILD, "venv/bin/python")
    if os.path.exists(own) and not os.environ.get("HONE_IN_VENV"):
        os.execve(own, [own, *sys.argv], dict(os.environ, HONE_IN_VENV="1"))
    print("1..0 # SKIP numpy and scipy are not installed: tools/venv.sh tests puts them into build/venv")
    sys.exit(0)

CASES = 1000 if os.environ.get("HONE_LONG") else 80  # the first ones
SEED = int(os.environ.get("HONE_SEED", "20240611"))
RELATIVE = 1e-9


class Interval(ctypes.Structure):
    _fields_ = [("lo", ctypes.c_double), ("mid", ctypes.c_double), ("hi", ctypes.c_double)]


class Test(ctypes.Structure):
    _fields_ = [("statistic", ctypes.c_double), ("p", ctypes.c_double), ("freedom", ctypes.c_double)]


number, count, numbers = ctypes.c_double, ctypes.c_size_t, ctypes.POINTER(ctypes.c_double)
lib = ctypes.CDLL(os.path.join(BUILD, "libhone.so"))


def function(name, result, *arguments):
    f = getattr(lib, name)
    f.restype, f.argtypes = result, arguments
    return f


normal_tail = function("hone_stat_normal_tail", number, number)
t_tail = function("hone_stat_t_tail", number, number, number)
t_quantile = function("hone_stat_t_quantile", number, number, number)
welch = function("hone_stat_welch", Test, numbers, count, numbers, count)
mann_whitney = function("hone_stat_mann_whitney", Test, numbers, count, numbers, count, ctypes.c_int)
wilcoxon = function("hone_stat_wilcoxon", Test, numbers, count, ctypes.c_int)
holm = function("hone_stat_holm", ctypes.c_bool, numbers, count, numbers)
cliff = function("hone_stat_cliffs_delta", number, numbers, count, numbers, count)
hedges = function("hone_stat_hedges_g", number, numbers, count, numbers, count)
trimmed = function("hone_stat_trimmed_mean", number, numbers, count, number)
bootstrap_at = function("hone_stat_bootstrap_median_at", Interval, numbers, count, number, ctypes.POINTER(count), count)
cluster_t = function("hone_stat_cluster_t", Interval, numbers, ctypes.POINTER(ctypes.c_uint), count, ctypes.c_int, number)
AUTO, ASYMPTOTIC = 0, 1


def c(x):
    return np.ascontiguousarray(x, dtype=np.float64).ctypes.data_as(numbers)


def of(f, *samples_and_rest):
    """Calls f with every array as pointer and length."""
    arguments, kept = [], []
    for a in samples_and_rest:
        if isinstance(a, np.ndarray):
            kept.append(np.ascontiguousarray(a, dtype=np.float64))
            arguments += [kept[-1].ctypes.data_as(numbers), len(a)]
        else:
            arguments.append(a)
    return f(*arguments)


def sample(rng, n):
    """Normal, skewed, or of few different values, at any place and scale."""
    kind = rng.integers(3)
    x = rng.normal(size=n) if kind == 0 else rng.lognormal(size=n) if kind == 1 else rng.integers(0, 6, n) / 4
    return x * 10.0 ** rng.integers(-3, 3) + rng.choice([0.0, 1.0, 10.0])


def pair(rng, least, most):
    a = sample(rng, rng.integers(least, most))
    b = rng.choice(a, rng.integers(least, most)) if rng.random() < 0.3 else sample(rng, rng.integers(least, most))
    return a, b + rng.choice([0.0, 0.1, 1.0]) * rng.normal()


def untied(rng, least, most):
    return rng.normal(size=rng.integers(least, most)), rng.normal(size=rng.integers(least, most)) + rng.normal()


# Each case gives (got, wanted): sequences of numbers.

def case_normal(rng):
    z = rng.normal() * rng.choice([1, 5, 12])
    return [normal_tail(z)], [stats.norm.sf(z)]


def case_t(rng):
    v = rng.choice([rng.uniform(0.5, 5), rng.uniform(5, 100), 10 ** rng.uniform(2, 7)])
    t = rng.normal() * rng.choice([0.1, 1, 10, 40])
    return [t_tail(t, v)], [stats.t.sf(t, v)]


def case_t_quantile(rng):
    v, p = 10 ** rng.uniform(0, 5), rng.choice([rng.uniform(0.01, 0.99), 10 ** rng.uniform(-8, -1)])
    return [t_quantile(p, v)], [stats.t.ppf(p, v)]


def case_welch(rng):
    a, b = pair(rng, 2, 60)
    while np.ptp(a) == 0 and np.ptp(b) == 0:
        a, b = pair(rng, 2, 60)
    r, want = of(welch, a, b), stats.ttest_ind(a, b, equal_var=False)
    return [r.statistic, r.p, r.freedom], [want.statistic, want.pvalue, want.df]


def case_mann_whitney_ties(rng):
    a, b = rng.integers(0, 12, rng.integers(2, 120)) / 8, rng.integers(0, 12, rng.integers(2, 120)) / 8
    a[0] = b[0] + 1  # not all the same
    r, want = of(mann_whitney, a, b, ASYMPTOTIC), stats.mannwhitneyu(a, b, method="asymptotic")
    return [r.statistic, r.p], [want.statistic, want.pvalue]


def case_mann_whitney_auto(rng):
    a, b = untied(rng, 1, 30) if rng.random() < 0.7 else untied(rng, 2, 6)
    r, want = of(mann_whitney, a, b, AUTO), stats.mannwhitneyu(a, b)
    return [r.statistic, r.p], [want.statistic, want.pvalue]


def case_wilcoxon_ties(rng):
    d = rng.integers(-6, 9, rng.integers(2, 150)) / 8
    d[0] = 1
    r, want = of(wilcoxon, d, ASYMPTOTIC), stats.wilcoxon(d, method="asymptotic")
    return [r.statistic, r.p], [want.statistic, want.pvalue]


def case_wilcoxon_auto(rng):
    d = rng.normal(size=rng.integers(1, 70)) + rng.normal() / 2
    if rng.random() < 0.2:
        d = np.append(rng.integers(-3, 5, rng.integers(1, 12)), 1).astype(float)
    r, want = of(wilcoxon, d, AUTO), stats.wilcoxon(d)
    return [r.statistic, r.p], [want.statistic, want.pvalue]


def case_holm(rng):
    """Straight from the definition: adjusted p(i) = max over j <= i of min(1, (m - j + 1) p(j))."""
    p = rng.random(rng.integers(1, 40)) ** rng.choice([1, 4])
    if rng.random() < 0.3:
        p = np.round(p, 1)
    got, order = np.zeros(len(p)), np.argsort(p, kind="stable")
    holm(c(p), len(p), got.ctypes.data_as(numbers))
    want = np.zeros(len(p))
    want[order] = np.minimum(1, np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)))
    return got, want


def case_bootstrap(rng):
    """SciPy draws its resamples from a generator; a second one in the same state gives the indices."""
    x, n_boot, seed, confidence = sample(rng, rng.integers(2, 60)), 100, int(rng.integers(2**32)), rng.choice([0.9, 0.95])
    index = np.random.default_rng(seed).integers(0, len(x), (n_boot, len(x)))
    want = stats.bootstrap((x,), np.median, n_resamples=n_boot, confidence_level=confidence, method="percentile",
                           rng=np.random.default_rng(seed)).confidence_interval
    index = np.ascontiguousarray(index, dtype=np.uintp)
    got = bootstrap_at(c(x), len(x), confidence, index.ctypes.data_as(ctypes.POINTER(count)), n_boot)
    return [got.lo, got.mid, got.hi], [want.low, np.median(x), want.high]


def case_effects(rng):
    a, b = pair(rng, 2, 40)
    a = np.append(a, a[0] + 1)
    signs = np.sign(a[:, None] - b[None, :])
    f = len(a) + len(b) - 2
    pooled = np.sqrt(((len(a) - 1) * a.var(ddof=1) + (len(b) - 1) * b.var(ddof=1)) / f)
    g = (a.mean() - b.mean()) / pooled * np.exp(scipy.special.gammaln(f / 2) - scipy.special.gammaln((f - 1) / 2)) / np.sqrt(f / 2)
    share = rng.choice([0, 0.1, 0.2, 0.25])
    return [of(cliff, a, b), of(hedges, a, b), of(trimmed, a, share)], [signs.mean(), g, stats.trim_mean(a, share)]


def case_cluster_t(rng):
    k, n = rng.integers(2, 12), rng.integers(2, 80)
    cluster = np.append([0, 1], rng.integers(0, k, n)).astype(np.uint32)
    x = rng.normal(size=len(cluster)) + 0.5 * cluster
    center, confidence = int(rng.integers(2)), rng.choice([0.9, 0.95, 0.99])
    got = cluster_t(c(x), cluster.ctypes.data_as(ctypes.POINTER(ctypes.c_uint)), len(x), center, confidence)
    middle = np.median if center == 0 else lambda v: stats.trim_mean(v, 0.2)
    m = np.array([middle(x[cluster == i]) for i in np.unique(cluster)])
    lo, hi = stats.t.interval(confidence, len(m) - 1, m.mean(), stats.sem(m))
    return [got.lo, got.mid, got.hi], [lo, m.mean(), hi]


def distance(got, want):
    """The worst relative difference; 0 where both are NAN."""
    got, want = np.asarray(got, float), np.asarray(want, float)
    both = np.isnan(got) & np.isnan(want) | (got == want)
    with np.errstate(all="ignore"):
        d = np.abs(got - want) / np.maximum(np.abs(want), 1e-300)
    return float(np.max(np.where(both, 0, np.where(np.isnan(d), np.inf, d))))


def main():
    warnings.simplefilter("ignore")
    cases = {name[5:]: f for name, f in globals().items() if name.startswith("case_")}
    print(f"# seed {SEED}, numpy {np.__version__}, scipy {scipy.__version__}")
    failed = 0
    for i, (name, case) in enumerate(cases.items(), 1):
        worst, where = 0.0, None
        for k in range(CASES):
            got, want = case(np.random.default_rng([SEED, i, k]))
            d = distance(got, want)
            if d > worst:
                worst, where = d, (k, list(map(float, got)), list(map(float, want)))
        ok = worst <= RELATIVE
        failed += not ok
        print(f"{'' if ok else 'not '}ok {i} - stats/{name}_agrees_with_scipy")
        print(f"#   {CASES} cases, worst relative difference {worst:.2g}", flush=True)
        if not ok:
            print(f"#   case {where[0]}: got {where[1]}, SciPy {where[2]}")
    print(f"1..{len(cases)}")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
