/**
 * Why a bank sends a payout back: the codes of ISO 20022 (ExternalReturnReason1Code) that banks use for credit transfers. NARR is for any
 * other reason.
 */
export const returnReasonCodes = [
  ...(['AC01', 'AC03', 'AC04', 'AC06', 'AC07', 'AG01', 'AG02', 'AM05', 'AM09'] as const),
  ...(['BE01', 'BE04', 'BE06', 'CNOR', 'CUST', 'FOCR', 'FR01', 'MD07', 'MS02', 'MS03'] as const),
  ...(['NARR', 'RC01', 'RR01', 'RR02', 'RR03', 'RR04'] as const),
]
export type ReturnReason = (typeof returnReasonCodes)[number]

/** The words of each code in English. */
export const returnReasons: { readonly [code in ReturnReason]: string } = {
  AC01: 'the account number is incorrect',
  AC03: "the recipient's account number is invalid",
  AC04: 'the account is closed',
  AC06: 'the account is blocked',
  AC07: "the recipient's account is closed",
  AG01: 'the account does not allow the transfer',
  AG02: 'the bank does not support this kind of transfer',
  AM05: 'the payment is a duplicate',
  AM09: 'the amount is wrong',
  BE01: 'the name does not belong to the account',
  BE04: "the recipient's address is missing or incorrect",
  BE06: 'the recipient is unknown at the bank',
  CNOR: "the recipient's bank cannot be reached",
  CUST: 'the recipient asked to return it',
  FOCR: 'the payer recalled it',
  FR01: 'fraud',
  MD07: 'the recipient is deceased',
  MS02: 'the recipient gave no reason',
  MS03: 'the bank gave no reason',
  NARR: 'another reason, which the bank describes in words',
  RC01: "the bank's BIC is incorrect",
  RR01: "the payer's account or identification is missing",
  RR02: "the payer's name or address is missing",
  RR03: "the recipient's name or address is missing",
  RR04: 'a regulation requires the return',
}

export function isReturnReason(code: string): code is ReturnReason {
  return Object.hasOwn(returnReasons, code)
}
