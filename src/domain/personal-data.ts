/** What stands where personal data stood, once the customer was erased. */
export const erasedText = '[erased]'
/** No wallet gives this one to an account. */
export const erasedAccountNumber = 999_999_999_999
