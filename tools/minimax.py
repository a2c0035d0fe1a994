#!/usr/bin/env python3
"""Coefficients of the polynomials in src/backend/cpu/rt/math_*.h.

usage: tools/minimax.py [NAME ...]        without names: all of them

Remez exchange (E. Remez, 1934; as in J.-M. Muller, Elementary Functions, 3rd ed., 3.5) on a fixed grid of Chebyshev
points, in 40-digit decimals. Coefficients are rounded to float one after the other, from the lowest on: each time one is
rounded, the rest is fitted again, so that the later ones take up its rounding error. Printed: the coefficients, lowest
first, as C floats, and the largest weighted error as a power of two: that of the result relative to the function, or,
for erfc, absolute.
"""
import math
import struct
import sys
from decimal import Decimal as D, getcontext

getcontext().prec = 40
GRID = 600
PI = D("3.141592653589793238462643383279502884197169")
LN2 = D(2).ln()


def series(first, step):
    """first + step(1) * first + step(2) * step(1) * first ..."""
    total, term, k = D(0), first, 1
    while abs(term) > D("1e-45") and k < 4000:
        total += term
        term *= step(k)
        k += 1
    return total


def erf(x):  # Abramowitz and Stegun 7.1.6: all terms positive
    return 2 / PI.sqrt() * (-x * x).exp() * series(x, lambda k: 2 * x * x / (2 * k + 1))


def tail_exp(r):  # (e^r - 1 - r) / r^2
    return series(D(1) / 2, lambda k: r / (k + 2))


def tail_sin(z):  # (sin r - r) / r^3, z = r^2
    return series(D(-1) / 6, lambda k: -z / ((2 * k + 2) * (2 * k + 3)))


def tail_cos(z):  # (cos r - 1 + z/2) / z^2
    return series(D(1) / 24, lambda k: -z / ((2 * k + 3) * (2 * k + 4)))


def tail_log(f):  # (log(1 + f) - f + f^2/2) / f^3
    if abs(f) < D("1e-6"):
        return D(1) / 3 - f / 4 + f * f / 5
    return ((1 + f).ln() - f + f * f / 2) / f**3


def bits_of_erfc(x):  # -log2(1 - erf(x))
    return -(1 - erf(x)).ln() / LN2


def erf_over(z):  # erf(x)/x - 1
    x = z.sqrt()
    return erf(x) / x - 1


HALF_LN2 = LN2 / 2 * D("1.001")
QUARTER2 = (PI / 4 * D("1.001")) ** 2
SPLIT = D("0.9")
# name: function, interval, degree, weight
FITS = {
    "exp": (tail_exp, -HALF_LN2, HALF_LN2, 4, lambda r: r * r / r.exp()),
    "exp_quick": (tail_exp, -HALF_LN2, HALF_LN2, 3, lambda r: r * r / r.exp()),
    "log": (tail_log, D("0.70710") - 1, D("1.41422") - 1, 7, lambda f: f**3 / (1 + f).ln() if f else D("1e-12")),
    "log_quick": (tail_log, D("0.70710") - 1, D("1.41422") - 1, 5, lambda f: f**3 / (1 + f).ln() if f else D("1e-12")),
    "sin": (tail_sin, D("1e-9"), QUARTER2, 2, lambda z: z),
    "cos": (tail_cos, D("1e-9"), QUARTER2, 2, lambda z: z * z),
    "erf_small": (erf_over, D("1e-9"), SPLIT * SPLIT * D("1.001"), 5, lambda z: 1 / (1 + erf_over(z))),
    "erf_small_quick": (erf_over, D("1e-9"), SPLIT * SPLIT * D("1.001"), 4, lambda z: 1 / (1 + erf_over(z))),
    "erfc": (bits_of_erfc, SPLIT, D("3.95"), 6, lambda x: (1 - erf(x)) * LN2),
    "erfc_quick": (bits_of_erfc, SPLIT, D("3.95"), 5, lambda x: (1 - erf(x)) * LN2),
    "exp2": (lambda f: ((f * LN2).exp() - 1) / f, D("-0.5001"), D("0.5"), 4, lambda f: abs(f) / (f * LN2).exp()),
}


def grid(low, high):
    points = [(low + high) / 2 - (high - low) / 2 * D(math.cos(math.pi * k / GRID)) for k in range(GRID + 1)]
    return [x if x else D("1e-9") for x in points]


def solve(rows):
    n = len(rows)
    for i in range(n):
        best = max(range(i, n), key=lambda k: abs(rows[k][i]))
        rows[i], rows[best] = rows[best], rows[i]
        for k in range(i + 1, n):
            by = rows[k][i] / rows[i][i]
            if by:
                rows[k] = [a - by * b for a, b in zip(rows[k], rows[i])]
    x = [D(0)] * n
    for i in reversed(range(n)):
        x[i] = (rows[i][n] - sum(rows[i][k] * x[k] for k in range(i + 1, n))) / rows[i][i]
    return x


def alternating(error, count):
    """Places of the extrema of alternating sign; count of them, the smaller end dropped."""
    places = []
    for i, e in enumerate(error):
        if places and (e > 0) == (error[places[-1]] > 0):
            if abs(e) > abs(error[places[-1]]):
                places[-1] = i
        else:
            places.append(i)
    while len(places) > count:
        places.pop(0 if abs(error[places[0]]) < abs(error[places[-1]]) else -1)
    return places


def remez(points, values, weights, powers):
    """Coefficients for the powers and the largest weighted error."""
    count = len(powers) + 1
    at = [i * GRID // (count - 1) for i in range(count)]
    coefficient, worst = [], D(0)
    for _ in range(30):
        rows = [[points[i] ** p for p in powers] + [(-1) ** k / weights[i], values[i]] for k, i in enumerate(at)]
        *coefficient, level = solve(rows)
        error = [w * (v - sum(c * x**p for c, p in zip(coefficient, powers))) for x, v, w in zip(points, values, weights)]
        worst = max(map(abs, error))
        new = alternating(error, count)
        if len(new) < count or worst <= abs(level) * D("1.0001"):
            break
        at = new
    return coefficient, worst


def as_float(x):
    return struct.unpack("f", struct.pack("f", float(x)))[0]


def as_c(x):
    mantissa, exponent = float(x).hex().split("p")
    return mantissa.rstrip("0").rstrip(".") + "p" + str(int(exponent)) + "f"


def fit(name):
    f, low, high, degree, weight = FITS[name]
    points = grid(low, high)
    values = [f(x) for x in points]
    weights = [weight(x) for x in points]
    weights = [w if abs(w) > D("1e-15") else D("1e-15") for w in weights]
    done, worst = [], D(0)
    for power in range(degree + 1):
        rest = [v - sum(D(c) * x**p for p, c in enumerate(done)) for x, v in zip(points, values)]
        coefficient, worst = remez(points, rest, weights, list(range(power, degree + 1)))
        done.append(as_float(coefficient[0]))
    error = max(abs(w * (v - sum(D(c) * x**p for p, c in enumerate(done)))) for x, v, w in zip(points, values, weights))
    print(f"{name:16} 2^{math.log2(error):.1f} (unrounded 2^{math.log2(worst):.1f})  " + ", ".join(map(as_c, done)), flush=True)


for wanted in sys.argv[1:] or FITS:
    if wanted not in FITS:
        sys.exit(__doc__)
    fit(wanted)
