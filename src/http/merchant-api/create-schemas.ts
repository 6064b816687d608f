import type { Static } from '@sinclair/typebox'
import { maxReferenceIdLength } from '../../domain/fields.js'
import { metadataLimits } from '../../domain/transfer/requested-fields.js'
import { Type } from '../../kernel/typebox.js'
import { Envelope, NullableString } from '../envelope.js'
import { printable, printableNotBlank } from '../server/validation.js'

const Text = (description: string, example: string, maxLength = 128) =>
  Type.String({ minLength: 1, maxLength, pattern: printableNotBlank, description, examples: [example] })

/** Not Type.Literal, whose schema would be a number. */
const IntegerConst = <Value extends number>(value: Value) =>
  Type.Unsafe<Value>({ type: 'integer', const: value, description: `Always ${value}.` })

const HashCode = Type.String({
  pattern: '^[0-9A-Fa-f]{32}$',
  description:
    'md5(SecretKey + amount + referenceId) in hexadecimal digits of either case, with the amount as written in this body.',
  examples: ['2F4A6C0D9E1B3F5A7C8D0E2F4A6B8C9D'],
})

const { keys, keyLength, valueLength } = metadataLimits
/** A record of texts. The patterns of its keys and values are those of every text. */
export const Metadata = Type.Unsafe<{ readonly [key: string]: string }>({
  type: 'object',
  maxProperties: keys,
  propertyNames: { minLength: 1, maxLength: keyLength, pattern: printable },
  additionalProperties: { type: 'string', maxLength: valueLength, pattern: printable },
  description: `Your own texts about the transfer, by key: at most ${keys}, keys of 1 to ${keyLength} and values of at most ${valueLength} characters.`,
  examples: [{ order: '4711' }],
})

const request = {
  amount: Type.Number({
    exclusiveMinimum: 0,
    description: 'At most two decimals, no exponent.',
    examples: [100.5],
  }),
  userId: Text('Unique ID of the customer.', '8412'),
  name: Text('Name and surname of the customer.', 'Ada Lovelace'),
  username: Text('Username of the customer.', 'ada'),
  referenceId: Text(
    'Your unique ID of this transfer, any printable text; a UUIDv4 is recommended.',
    '6a0e1f2c-57b7-4d0c-9f43-0f5a1f6d2b11',
    maxReferenceIdLength,
  ),
  paymentMethod: Type.Integer({ description: 'A payment method code.', examples: [1] }),
  metadata: Type.Optional(Metadata),
}

const deposit = { ...request, transactionType: IntegerConst(1) }

export const HostedDepositRequest = Type.Object(
  { ...deposit, hashCode: HashCode },
  { title: 'CreateHostedDepositRequest' },
)
export const NativeDepositRequest = Type.Object(
  { ...deposit, hashCode: Type.Optional(HashCode) },
  { title: 'CreateNativeDepositRequest' },
)
export const WithdrawalRequest = Type.Object(
  {
    identityNumber: Type.Optional(
      NullableString({ maxLength: 64, pattern: printable, description: 'Identity number of the customer.' }),
    ),
    accountNumber: Text(
      'The account that receives the money: a wallet account number, an IBAN or similar.',
      'TR330006100519786457841326',
      64,
    ),
    ...request,
    transactionType: IntegerConst(2),
    hashCode: HashCode,
  },
  { title: 'CreateWithdrawalRequest' },
)

export type HostedDeposit = Static<typeof HostedDepositRequest>
export type NativeDeposit = Static<typeof NativeDepositRequest>
export type Withdrawal = Static<typeof WithdrawalRequest>

const created = {
  trackingId: Type.String({ format: 'uuid', examples: ['0b7e9a52-3c1d-5f6e-8a90-1b2c3d4e5f60'] }),
  referenceId: Type.String({ examples: ['6a0e1f2c-57b7-4d0c-9f43-0f5a1f6d2b11'] }),
  status: Type.Integer({ description: '1 Pending: the response to a create and its repeats.', examples: [1] }),
  statusDescription: Type.String({ examples: ['Pending'] }),
  amount: Type.Number({ examples: [100.5] }),
}

export const HostedDepositResponse = Type.Object(
  {
    url: Type.String({ description: 'Redirect the customer to this URL.' }),
    ...created,
    expiresAt: Type.String({ format: 'date-time' }),
  },
  { title: 'CreatedHostedDeposit', description: 'Created now or by an earlier, identical request.' },
)

export const CreatedEnvelope = Envelope(
  Type.Object(
    { transactionId: Type.String({ format: 'uuid', description: 'The same as trackingId.' }), ...created },
    { title: 'CreatedTransfer' },
  ),
  'Created now or by an earlier, identical request.',
  'CreatedEnvelope',
)
