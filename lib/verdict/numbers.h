/* SPDX-License-Identifier: MIT */
/* The functions of libm that statistics need, without its 300 kB per agent. To eleven digits. */
#ifndef RIPTIDE_LIB_VERDICT_NUMBERS_H
#define RIPTIDE_LIB_VERDICT_NUMBERS_H

#define LN_2 0.69314718055994530942

/* ln(x) of a finite x > 0, by the series of the inverse hyperbolic tangent around 1. */
static inline double natural_log(double x)
{
    double t, power, sum = 0;
    int doublings = 0;

    for (; x > 1.5; x /= 2)
        doublings++;
    for (; x < 0.75; x *= 2)
        doublings--;
    t = power = (x - 1) / (x + 1);
    for (int n = 1; n < 18; n += 2, power *= t * t)
        sum += power / n;
    return 2 * sum + doublings * LN_2;
}

/* e^x of |x| <= 700, by its series near 0, squared. */
static inline double exponential(double x)
{
    double term = 1, sum = 1;
    int squarings = 0;

    for (; x > 0.5 || x < -0.5; x /= 2)
        squarings++;
    for (int n = 1; n < 14; n++)
        sum += term *= x / n;
    for (; squarings > 0; squarings--)
        sum *= sum;
    return sum;
}

static inline double square_root(double x)
{
    return exponential(natural_log(x) / 2);
}

#endif
