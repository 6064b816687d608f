/** The forms of what a customer is known by (specification, Limits). */

export const maxAccountNumber = 999_999_999_999

export function isPassword(text: string): boolean {
  return /^[0-9]{6}$/.test(text)
}

/** Of those that people choose most (of six digits), the ones no rule below finds. */
const chosenOften: ReadonlySet<string> = new Set(
  '102030 112233 123321 123654 142536 147258 147852 159357 159753 258456 369258 456123 741852 753951 789123 789456'.split(
    ' ',
  ),
)

/** Among the first that anybody would guess: 000000, 123456, 987654, 121212, 123123, and those chosen most. */
export function isEasyPassword(digits: string): boolean {
  const isRepetition = /^(\d{1,3})\1+$/.test(digits)
  return isRepetition || isRun(digits, 1) || isRun(digits, 9) || chosenOften.has(digits)
}

/** Each digit is the one before plus `step`, the 0 after the 9. */
function isRun(digits: string, step: number): boolean {
  return [...digits].every((digit, index) => index === 0 || Number(digit) === (Number(digits[index - 1]) + step) % 10)
}

/** E.164, with the plus: `+905551234567`. */
export function isPhone(text: string): boolean {
  return /^\+[1-9][0-9]{6,14}$/.test(text)
}

/** A verification code's form. */
export function isCode(text: string): boolean {
  return /^[0-9]{6}$/.test(text)
}
