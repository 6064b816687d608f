/** Returns whether the screen is that of a phone, which an open withdrawal fills. */
export function isPhone(): boolean {
  return window.matchMedia('(max-width: 47.9375rem)').matches
}
