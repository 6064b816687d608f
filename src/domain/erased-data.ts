/** The text that replaces personal data after the customer was erased. */
export const erasedText = '[erased]'
/** The account number that replaces a real one. No wallet assigns it to an account. */
export const erasedAccountNumber = 999_999_999_999
