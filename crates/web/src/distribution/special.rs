//! The special functions behind the distributions: normal and gamma distribution functions, their inverses, and sums of powers.
//!
//! Logarithms, exponentials, the gamma and the error function come from `libm`; the rest is arithmetic, so that all results are
//! the same on every machine.

use core::f64::consts::FRAC_1_SQRT_2;

/// Distribution function of the standard normal distribution.
pub(crate) fn normal_cdf(z: f64) -> f64 {
    0.5 * libm::erfc(-z * FRAC_1_SQRT_2)
}

/// Inverse of [`normal_cdf`] by Wichura's algorithm AS 241 (Applied Statistics 37, 1988), to about 16 digits.
pub(crate) fn normal_quantile(probability: f64) -> f64 {
    let centred = probability - 0.5;
    if centred.abs() <= 0.425 {
        return centred * ratio(0.180_625 - centred * centred, &CENTRE);
    }
    let tail = if centred < 0.0 { probability } else { 1.0 - probability };
    if tail <= 0.0 {
        return f64::INFINITY.copysign(centred);
    }
    let root = (-libm::log(tail)).sqrt();
    let size = if root <= 5.0 { ratio(root - 1.6, &MIDDLE) } else { ratio(root - 5.0, &FAR) };
    size.copysign(centred)
}

/// Coefficients of numerator and denominator, the constant first.
type Coefficients = [[f64; 8]; 2];

fn ratio(at: f64, [numerator, denominator]: &Coefficients) -> f64 {
    let polynomial = |coefficients: &[f64; 8]| coefficients.iter().rev().fold(0.0, |sum, c| sum * at + c);
    polynomial(numerator) / polynomial(denominator)
}

const CENTRE: Coefficients = [
    [
        3.387_132_872_796_366_6,
        133.141_667_891_784_38,
        1_971.590_950_306_551_3,
        13_731.693_765_509_46,
        45_921.953_931_549_87,
        67_265.770_927_008_7,
        33_430.575_583_588_13,
        2_509.080_928_730_122_7,
    ],
    [
        1.0,
        42.313_330_701_600_91,
        687.187_007_492_057_9,
        5_394.196_021_424_751,
        21_213.794_301_586_597,
        39_307.895_800_092_71,
        28_729.085_735_721_943,
        5_226.495_278_852_854,
    ],
];
const MIDDLE: Coefficients = [
    [
        1.423_437_110_749_683_5,
        4.630_337_846_156_546,
        5.769_497_221_460_691,
        3.647_848_324_763_204_5,
        1.270_458_252_452_368_4,
        0.241_780_725_177_450_6,
        0.022_723_844_989_269_184,
        7.745_450_142_783_414e-4,
    ],
    [
        1.0,
        2.053_191_626_637_759,
        1.676_384_830_183_803_8,
        0.689_767_334_985_1,
        0.148_103_976_427_480_08,
        0.015_198_666_563_616_457,
        5.475_938_084_995_345e-4,
        1.050_750_071_644_416_9e-9,
    ],
];
const FAR: Coefficients = [
    [
        6.657_904_643_501_103,
        5.463_784_911_164_114,
        1.784_826_539_917_291_3,
        0.296_560_571_828_504_87,
        0.026_532_189_526_576_124,
        0.001_242_660_947_388_078_4,
        2.711_555_568_743_487_6e-5,
        2.010_334_399_292_288_1e-7,
    ],
    [
        1.0,
        0.599_832_206_555_888,
        0.136_929_880_922_735_8,
        0.014_875_361_290_850_615,
        7.868_691_311_456_133e-4,
        1.846_318_317_510_054_8e-5,
        1.421_511_758_316_446e-7,
        2.044_263_103_389_94e-15,
    ],
];

/// Relative size at which a sum's next term no longer counts.
const PRECISION: f64 = f64::EPSILON / 4.0;
/// More terms than any argument below needs (about seven standard deviations of a gamma distribution of shape 10⁶).
const MOST_TERMS: u32 = 10_000;

/// Distribution function at `x` of the gamma distribution with this shape and scale 1: the regularised lower incomplete gamma
/// function P(shape, x), by its series below shape + 1 and by its continued fraction above (Abramowitz and Stegun 6.5.29, 6.5.31).
pub(super) fn gamma_cdf(shape: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x == f64::INFINITY {
        return 1.0;
    }
    let factor = libm::exp(shape * libm::log(x) - x - libm::lgamma(shape));
    if x < shape + 1.0 { factor * gamma_series(shape, x) } else { 1.0 - factor * gamma_fraction(shape, x) }
}

fn gamma_series(shape: f64, x: f64) -> f64 {
    let mut term = 1.0 / shape;
    let mut sum = term;
    let mut divisor = shape;
    for _ in 0..MOST_TERMS {
        divisor += 1.0;
        term *= x / divisor;
        sum += term;
        if term < sum * PRECISION {
            break;
        }
    }
    sum
}

/// The continued fraction by Lentz's method, whose denominators stay above zero for x > shape + 1.
fn gamma_fraction(shape: f64, x: f64) -> f64 {
    let mut b = x + 1.0 - shape;
    let mut c = f64::MAX;
    let mut d = 1.0 / b;
    let mut product = d;
    for term in 1..=MOST_TERMS {
        let i = f64::from(term);
        let a = -i * (i - shape);
        b += 2.0;
        d = 1.0 / (a * d + b);
        c = b + a / c;
        product *= c * d;
        if (c * d - 1.0).abs() < f64::EPSILON {
            break;
        }
    }
    product
}

/// Inverse of [`gamma_cdf`]: Wilson and Hilferty's approximation (for shapes up to 1, what the density is like on both sides of 1), then
/// Halley's method.
pub(super) fn gamma_quantile(shape: f64, probability: f64) -> f64 {
    if probability <= 0.0 {
        return 0.0;
    }
    if probability >= 1.0 {
        return f64::INFINITY;
    }
    let mut x = gamma_guess(shape, probability);
    let log_gamma = libm::lgamma(shape);
    for _ in 0..16 {
        if x <= 0.0 {
            return 0.0;
        }
        let density = libm::exp((shape - 1.0) * libm::log(x) - x - log_gamma);
        let newton = (gamma_cdf(shape, x) - probability) / density;
        let curvature = newton * ((shape - 1.0) / x - 1.0);
        let step = newton / (1.0 - 0.5 * curvature.min(1.0));
        if !step.is_finite() {
            break;
        }
        x = if step < x { x - step } else { x / 2.0 };
        // Each step cubes the relative error, so that the next would be lost in rounding.
        if step.abs() < 1e-5 * x {
            break;
        }
    }
    x
}

fn gamma_guess(shape: f64, probability: f64) -> f64 {
    if shape > 1.0 {
        let ninth = 1.0 / (9.0 * shape);
        let cube_root = 1.0 - ninth + normal_quantile(probability) * ninth.sqrt();
        return (shape * cube_root * cube_root * cube_root).max(1e-3 * shape);
    }
    // Below x = 1 the density is about x^(shape-1), above it about e^-x.
    let below = 1.0 - shape * (0.253 + shape * 0.12);
    if probability < below {
        libm::pow(probability / below, 1.0 / shape)
    } else {
        1.0 - libm::log1p(-(probability - below) / (1.0 - below))
    }
}

/// Terms that [`PowerSum`] adds one by one.
const HEAD: u32 = 12;

/// Sums 1^-s + 2^-s + … + n^-s for one s: the first terms added, the rest by the formula of Euler and Maclaurin, whose error is below
/// 10⁻¹².
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct PowerSum {
    exponent: f64,
    /// The first terms, without what the formula says at the last of them.
    offset: f64,
}

impl PowerSum {
    pub(super) fn new(exponent: f64) -> Self {
        let head = (1..=HEAD).map(|k| libm::pow(f64::from(k), -exponent)).sum();
        let sum = Self { exponent, offset: head };
        Self { offset: head - sum.tail(f64::from(HEAD)), ..sum }
    }

    /// The sum up to `count`.
    pub(super) fn up_to(self, count: f64) -> f64 {
        if count >= f64::from(HEAD) {
            return self.offset + self.tail(count.floor());
        }
        (1..HEAD).map(f64::from).take_while(|k| *k <= count).map(|k| libm::pow(k, -self.exponent)).sum()
    }

    /// The part of the formula that depends on the upper end: ∫f + f/2 + f′/12 − f‴/720 + f⁗′/30240 for f(x) = x^-s.
    fn tail(self, n: f64) -> f64 {
        let s = self.exponent;
        let f = libm::pow(n, -s);
        let integral = if self.is_harmonic() { libm::log(n) } else { f * n / (1.0 - s) };
        let first = -s / (12.0 * n);
        let third = s * (s + 1.0) * (s + 2.0) / (720.0 * n * n * n);
        let fifth = -s * (s + 1.0) * (s + 2.0) * (s + 3.0) * (s + 4.0) / (30_240.0 * n * n * n * n * n);
        integral + f * (0.5 + first + third + fifth)
    }

    /// About where the sum passes `sum`, by inverting the integral; no number where the first terms are larger than `sum`.
    pub(super) fn near(self, sum: f64) -> f64 {
        let rest = sum - self.offset;
        let s = self.exponent;
        if self.is_harmonic() { libm::exp(rest) } else { libm::pow(rest * (1.0 - s), 1.0 / (1.0 - s)) }
    }

    fn is_harmonic(self) -> bool {
        (self.exponent - 1.0).abs() < 1e-9
    }
}

/// base · (base + 1) · … with `order` factors: Γ(base + order) / Γ(base).
pub(super) fn rising(base: f64, order: u32) -> f64 {
    (0..order).map(|k| base + f64::from(k)).product()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn close(value: f64, expected: f64, relative: f64) -> bool {
        (value - expected).abs() <= relative * expected.abs()
    }

    #[test]
    fn normal_quantiles_are_those_of_the_tables() {
        assert!(close(normal_quantile(0.975), 1.959_963_984_540_054, 1e-14));
        assert!(close(normal_quantile(0.999_999), 4.753_424_308_822_899, 1e-10));
        assert!(close(normal_quantile(1e-15), -7.941_345_326_170_997, 1e-13));
        assert!(normal_quantile(0.0).is_infinite() && normal_quantile(0.0) < 0.0);
        assert!(normal_quantile(1.0).is_infinite() && normal_quantile(1.0) > 0.0);
    }

    #[test]
    fn gamma_distribution_is_that_of_closed_forms() {
        // Shape 1 is the exponential distribution, shape 1/2 that of half a squared normal number, shape 2 an Erlang distribution.
        for x in [1e-9, 0.01, 0.7, 1.0, 3.0, 30.0] {
            assert!(close(gamma_cdf(1.0, x), -libm::expm1(-x), 1e-13), "{x}");
            assert!(close(gamma_cdf(0.5, x), libm::erf(x.sqrt()), 1e-13), "{x}");
            assert!((gamma_cdf(2.0, x) - (1.0 - (1.0 + x) * libm::exp(-x))).abs() < 1e-14, "{x}");
        }
        assert!(gamma_cdf(3.0, 0.0).abs() < f64::MIN_POSITIVE);
        assert!((gamma_cdf(3.0, f64::INFINITY) - 1.0).abs() < f64::EPSILON);
    }

    #[test]
    fn power_sums_are_sums_of_powers() {
        for exponent in [-1.0, 0.3, 1.0, 1.1, 2.0, 3.0] {
            let sum = PowerSum::new(exponent);
            let mut slow = 0.0;
            for k in 1..=5000_u32 {
                slow += libm::pow(f64::from(k), -exponent);
                assert!(close(sum.up_to(f64::from(k)), slow, 1e-11), "{exponent} {k}");
            }
            assert!((sum.near(slow) - 5000.0).abs() < 2.0, "{exponent}: {}", sum.near(slow));
        }
    }

    proptest! {
        #[test]
        fn normal_quantile_inverts(probability in 1e-12..0.999_999_f64) {
            prop_assert!(close(normal_cdf(normal_quantile(probability)), probability, 1e-12));
        }

        #[test]
        fn gamma_quantile_inverts(log_shape in -3.0..7.0_f64, probability in 1e-6..0.999_999_f64) {
            let shape = libm::exp(log_shape);
            let x = gamma_quantile(shape, probability);
            prop_assert!((gamma_cdf(shape, x) - probability).abs() < 1e-10, "{} {}", x, gamma_cdf(shape, x));
        }
    }
}
