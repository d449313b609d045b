/* MagnitudeLearner.run by hand: what the compiled learner is measured against.
 *
 * The same arithmetic in the same order, so that the predictions agree bit for bit: the state is a = s/h, b = v/h^2 and
 * h = mantissa * 2^(512 exponent). What it leaves out is everything else: no objects, no calls through a table of
 * methods, no checks, no errors.
 */
#include <math.h>
#include <stddef.h>

#define UP 0x1p512
#define DOWN 0x1p-512
#define HIGH 0x1p256
#define LOW 0x1p-256
#define CAP 1e150
#define STEEP 400.0

typedef struct {
    double mantissa;
    ptrdiff_t exponent;
} scale;

static double dawson(const double *table, double x)
{
    double y = fabs(x), t, factor;
    int row;
    if (y < 6.0) {
        row = (int)(4.0 * y);
        t = 4.0 * y - row - 0.5;
        factor = x;
    } else {
        row = 24;
        t = 6.0 / y;
        t = t * t - 0.5;
        factor = 0.5 / x;
    }
    const double *p = table + 12 * row;
    double q = t * t;
    double even = ((((p[10] * q + p[8]) * q + p[6]) * q + p[4]) * q + p[2]) * q + p[0];
    double odd = ((((p[11] * q + p[9]) * q + p[7]) * q + p[5]) * q + p[3]) * q + p[1];
    return factor * (even + t * odd);
}

static double erfi_rule(const double *table, double a, double b)
{
    double root = sqrt(b + 2.0 * a + 16.0);
    double z = 0.5 * a / root;
    if (z * z > STEEP)
        return CAP;
    double x = exp(z * z) * (dawson(table, z) - 1.0 / root);
    return x < CAP ? x : CAP;
}

/* h <- max(discount h, size); returns discount h_old / h_new. */
static double grow(scale *h, double discount, double size)
{
    double m = h->mantissa;
    ptrdiff_t e = h->exponent, exponent = 0;
    if (m > 0.0 && discount > 0.0) {
        for (; discount >= HIGH; e++)
            discount *= DOWN;
        for (; discount < LOW; e--)
            discount *= UP;
        m *= discount;
        if (m >= HIGH) {
            m *= DOWN;
            e++;
        } else if (m < LOW) {
            m *= UP;
            e--;
        }
    } else {
        m = 0.0;
        e = 0;
    }
    for (; size >= HIGH; exponent++)
        size *= DOWN;
    for (; 0.0 < size && size < LOW; exponent--)
        size *= UP;
    if (size == 0.0 || (m > 0.0 && (e > exponent || (e == exponent && m >= size)))) {
        h->mantissa = m;
        h->exponent = e;
        return m > 0.0 ? 1.0 : 0.0;
    }
    h->mantissa = size;
    h->exponent = exponent;
    if (m == 0.0 || e == exponent)
        return m / size;
    if (e == exponent - 1)
        return m / size * DOWN;
    if (e == exponent - 2)
        return m / size * DOWN * DOWN;
    return 0.0;
}

/* x / h, for a number not much larger than h. */
static double divide(const scale *h, double x)
{
    ptrdiff_t e = h->exponent;
    if (x == 0.0 || h->mantissa == 0.0 || e > 2)
        return 0.0;
    for (; e > 0; e--)
        x *= DOWN;
    for (; e < 0; e++)
        x *= UP;
    return x / h->mantissa;
}

void magnitude_run(const double *restrict table, double epsilon, const double *restrict gradients,
                   const double *restrict discounts, double *restrict predictions, ptrdiff_t rounds)
{
    scale h = {0.0, 0};
    double a = 0.0, b = 0.0, x = 0.0;
    for (ptrdiff_t t = 0; t < rounds; t++) {
        predictions[t] = x > 0.0 ? x : 0.0;
        double r = grow(&h, discounts[t], fabs(gradients[t]));
        double c = r * divide(&h, gradients[t]);
        if (c > 0.0 && x < 0.0)
            c = 0.0;
        b = r * r * b + c * c;
        a = r * a - c;
        x = epsilon * erfi_rule(table, a, b);
    }
}
