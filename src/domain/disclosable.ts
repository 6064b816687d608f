/** The personal fields that a disclosure can name, by the words for them in requests. */
export const disclosableFields = {
  customer: ['userId'],
  name: ['name'],
  username: ['username'],
  account: ['accountNumber', 'walletAccountNumber'],
  identity: ['identityNumber'],
  metadata: ['metadata'],
  bank: [
    ...(['bankReasonText', 'endToEndId', 'remittance', 'creditorReference'] as const),
    ...(['returnReasonText', 'originalEndToEndId'] as const),
  ],
} as const
export type Disclosable = keyof typeof disclosableFields
export const disclosables = Object.keys(disclosableFields) as readonly Disclosable[]
