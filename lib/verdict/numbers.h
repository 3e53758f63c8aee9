/* SPDX-License-Identifier: MIT */
/*
 * The functions of libm that statistics need, to eleven digits. libm itself would take 300 kB of
 * memory in each agent.
 */
#ifndef RIPTIDE_LIB_VERDICT_NUMBERS_H
#define RIPTIDE_LIB_VERDICT_NUMBERS_H

#define LN_2 0.69314718055994530942

/*
 * ln(x) of a finite x > 0: halved or doubled to around 1, then by the series of the inverse
 * hyperbolic tangent.
 */
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

/* e^x of |x| <= 700: halved until it is near 0, then by its series, squared for each halving. */
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

/* Of a finite x > 0. */
static inline double square_root(double x)
{
    return exponential(natural_log(x) / 2);
}

#endif
