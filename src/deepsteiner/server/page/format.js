// Numbers as people read them. Widths stay the same while values change, so nothing jumps.

/** A length with six significant digits: 3.40549, 1234.56, 0.00123457. */
export function length(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const magnitude = Math.floor(Math.log10(Math.abs(value)));
  if (magnitude < -4 || magnitude > 8) return value.toExponential(5);
  return value.toFixed(Math.min(10, Math.max(0, 5 - magnitude)));
}

/** A share in per cent: 3.91 %, 0.004 %. */
export function percent(share) {
  if (share === null || share === undefined || !Number.isFinite(share)) return "–";
  const value = 100 * share;
  // What rounding leaves of zero (1e-14) is zero.
  if (Math.abs(value) < 5e-7) return "0 %";
  const digits = Math.abs(value) >= 0.1 ? 2 : Math.abs(value) >= 0.001 ? 4 : 6;
  return `${value.toFixed(digits)} %`;
}

/** Seconds as ms or s: 4.1 ms, 12.3 s. */
export function seconds(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (value < 0.9995) return `${(1000 * value).toFixed(value < 0.0995 ? 1 : 0)} ms`;
  return `${value.toFixed(value < 99.95 ? 1 : 0)} s`;
}

/** A count with thin spaces between thousands: 12 345. */
export const count = (value) => String(value).replace(/\B(?=(\d{3})+$)/g, "\u2009");

/** "1 point", "2 points". */
export const plural = (n, noun) => `${count(n)} ${noun}${n === 1 ? "" : "s"}`;

/** A coordinate without the noise of binary fractions. */
export const coordinate = (value) => String(Number(value.toPrecision(6)));
