import { Type } from '../../kernel/typebox.js'
import { Envelope, PolledEnvelope } from '../envelope.js'

const TrackingId = Type.String({
  pattern: '^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$',
  description: 'The trackingId of the native deposit.',
  examples: ['0b7e9a52-3c1d-5f6e-8a90-1b2c3d4e5f60'],
})
const Token = (step: string) =>
  Type.String({ minLength: 1, maxLength: 1024, description: `The token of ${step}.`, examples: ['eyJhbGciOi…'] })

export const LogInRequest = Type.Object(
  {
    trackingId: TrackingId,
    userName: Type.String({
      maxLength: 254,
      pattern: '^[^\\s@]+@[^\\s@]+$',
      description: "The email of the customer's wallet account.",
      examples: ['ada@example.com'],
    }),
    password: Type.String({ pattern: '^[0-9]{6}$', description: 'Six digits.' }),
  },
  { title: 'WalletLogIn' },
)

export const CodeRequest = Type.Object(
  {
    trackingId: TrackingId,
    token: Token('WalletCustomerLogin'),
    code: Type.String({ pattern: '^[0-9]{6}$', description: 'The six digits that the customer received.' }),
  },
  { title: 'WalletCode' },
)

export const DeviceRequest = Type.Object(
  { token: Token('Wallet2Fa'), trackingId: TrackingId },
  { title: 'WalletDevice' },
)

export const LogInAnswer = Envelope(
  Type.String({ description: 'A token for Wallet2Fa, valid for 5 minutes.', examples: ['eyJhbGciOi…'] }),
  'A code is on its way to the customer.',
  'LogInEnvelope',
)

export const CodeAnswer = Envelope(
  Type.Object({
    next_step: Type.String({
      description:
        '`Completed`: the deposit is complete. `ValidateUserDevice`: the customer has received an email about the device.',
      examples: ['Completed'],
    }),
    token: Type.String({ description: 'A token for WalletValidateUserDevice, valid for 10 minutes.' }),
    account_number: Type.Integer({ description: "The customer's wallet account.", examples: [1000001] }),
  }),
  'The code is right.',
  'CodeEnvelope',
)

export const DeviceAnswer = PolledEnvelope(
  { description: '`Completed` once the deposit is complete, otherwise null.', examples: ['Completed'] },
  'Done; or `success` false with `error.code` 20001 (the device is not confirmed yet) or 20002 (the payment is being carried out): ask again.',
)
