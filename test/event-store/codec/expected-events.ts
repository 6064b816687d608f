import type { DomainEvent } from '../../../src/event-store/event-codec.js'

const trackingId = '0e1b7c53-4f0f-5a58-9b55-1f3f4d0a7b10'
const merchantId = '6f6a5c0e-52a1-4f0e-9d2b-0f0f5d3c1a11'
const deposit = {
  trackingId,
  merchantId,
  kind: 'deposit',
  referenceId: '3f0c4c7e-8f6b-4d0a-9a52-6a4b6e5d1c01',
  amountMinor: 10_050n,
  at: '2026-03-01T10:05:00.000Z',
} as const
const customer = { userId: 'user-17', name: 'Ayşe Yılmaz', username: 'ayse.y' }
const depositCreated = {
  ...deposit,
  at: '2026-03-01T10:00:00.000Z',
  ...customer,
  paymentMethod: 1,
  channel: 'hosted',
  expiresAt: '2026-03-01T10:30:00.000Z',
} as const
const withdrawalCreated = {
  ...deposit,
  kind: 'withdrawal',
  amountMinor: 99_999_999n,
  ...customer,
  paymentMethod: 2,
  accountNumber: 'TR330006100519786457841326',
  identityNumber: null,
} as const
const withdrawal = { ...deposit, kind: 'withdrawal', amountMinor: 99_999_999n } as const
const clerk = 'user:5f1c2a7e-90f1-4a53-8f0e-3a1f6f6f0b11'
const completed = {
  ...deposit,
  transactionAmountMinor: 9_500n,
  hasAmountMismatch: true,
  receiptUrl: 'https://bank.example/receipts/77',
  message: null,
}
const callback = {
  webhookId: 'b7d7c1de-58d1-4e0a-8f6c-2c4f6a0c9e21',
  trackingId,
  merchantId,
  at: '2026-03-01T10:05:01.250Z',
}
const payment = { trackingId, merchantId, at: '2026-03-01T10:03:00.000Z' }
const challenge = { ...payment, challengeId: '6e0b5e1c-6f0d-4d9e-8c55-0d6a3b1f7a21' }
const merchant = { merchantId, at: '2026-03-01T09:00:00.000Z' }
const rotation = { ...merchant, previousValidUntil: '2026-03-02T09:00:00.000Z' }
const attempt = { ...callback, attempt: 2, httpStatus: 503, durationMs: 182.4 }
const walletPayment = {
  accountNumber: 481_920_375_566,
  trackingId,
  amountMinor: 10_050n,
  description: 'Blue Shop, 3f0c4c7e-8f6b-4d0a-9a52-6a4b6e5d1c01',
  at: '2026-03-01T10:05:00.000Z',
}
const walletAccount = { accountNumber: 481_920_375_566, at: '2026-03-01T09:00:00.000Z' }
const user = { userId: '5b0d7c52-9a1c-4c66-8a57-0c2f6c1e7d11', at: '2026-03-01T09:00:00.000Z' }
const passwordHash = '$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHRzYWx0$aGFzaGhhc2hoYXNoaGFzaGhhc2hoYXNo'
const sealed = 'v1.ab2e5015.rhrwqC1qzSCVAFSq.MjnWJB125g5jcYdyUDg.4Fk7V0JtJNVA43Cbi9eJhQ'

const hashId = '8f0d6a52-6c0e-5d2b-9a41-3c1f2f0b7a64'

/** What each file of test/fixtures/events decodes to today, by its name without `.json`. */
export const expectedEvents: { readonly [fixture: string]: DomainEvent } = {
  'DepositCreated.v1': { type: 'DepositCreated', data: { ...depositCreated, told: false, hashId: null } },
  'DepositCreated.v2': { type: 'DepositCreated', data: { ...depositCreated, told: true, hashId: null } },
  'DepositCreated.v3': { type: 'DepositCreated', data: { ...depositCreated, told: true, hashId } },
  'WithdrawalCreated.v1': { type: 'WithdrawalCreated', data: { ...withdrawalCreated, told: false, hashId: null } },
  'WithdrawalCreated.v2': { type: 'WithdrawalCreated', data: { ...withdrawalCreated, told: true, hashId: null } },
  'WithdrawalCreated.v3': { type: 'WithdrawalCreated', data: { ...withdrawalCreated, told: true, hashId } },
  'TransferCompleted.v1': { type: 'TransferCompleted', data: { ...completed, reason: null } },
  'TransferCompleted.v2': {
    type: 'TransferCompleted',
    data: { ...completed, reason: 'the rest was returned by the bank' },
  },
  'TransferSentToManualControl.v1': {
    type: 'TransferSentToManualControl',
    data: { ...deposit, message: 'the bank did not answer' },
  },
  'TransferCancelled.v1': {
    type: 'TransferCancelled',
    data: {
      ...deposit,
      message: 'expired',
      reason: 'expired',
      transactionAmountMinor: 0n,
      hasAmountMismatch: false,
      receiptUrl: null,
      autoCancelledAmountMinor: null,
    },
  },
  'TransferCancelled.v2': {
    type: 'TransferCancelled',
    data: {
      ...deposit,
      message: 'amount mismatch',
      transactionAmountMinor: 9_500n,
      hasAmountMismatch: true,
      receiptUrl: 'https://bank.example/receipts/77',
      autoCancelledAmountMinor: 9_500n,
      reason: 'amount-mismatch',
    },
  },
  'TransferCancelled.v3': {
    type: 'TransferCancelled',
    data: {
      ...deposit,
      message: 'expired',
      transactionAmountMinor: 0n,
      hasAmountMismatch: false,
      receiptUrl: null,
      autoCancelledAmountMinor: null,
      reason: 'expired',
    },
  },
  'TransferFailed.v1': { type: 'TransferFailed', data: { ...deposit, message: null } },
  'LateFundsReceived.v1': {
    type: 'LateFundsReceived',
    data: { ...deposit, receivedAmountMinor: 10_050n, receiptUrl: null, hasAmountMismatch: false },
  },
  'LateFundsReceived.v2': {
    type: 'LateFundsReceived',
    data: {
      ...deposit,
      receivedAmountMinor: 9_500n,
      receiptUrl: 'https://bank.example/receipts/77',
      hasAmountMismatch: true,
    },
  },
  'TransferReopened.v1': { type: 'TransferReopened', data: { ...deposit, reason: 'the customer has paid after all' } },
  'FundsReturned.v1': {
    type: 'FundsReturned',
    data: {
      ...deposit,
      returnedAmountMinor: 9_500n,
      receiptUrl: 'https://bank.example/receipts/78',
      hasAmountMismatch: false,
    },
  },
  'AttentionResolved.v1': {
    type: 'AttentionResolved',
    data: { ...deposit, resolvedAmountMinor: 9_500n, reason: 'booked on order 1002' },
  },
  'WithdrawalClaimed.v1': {
    type: 'WithdrawalClaimed',
    data: { ...withdrawal, by: clerk, until: '2026-03-01T10:20:00.000Z' },
  },
  'WithdrawalReleased.v1': {
    type: 'WithdrawalReleased',
    data: { ...withdrawal, at: '2026-03-01T10:06:00.000Z', by: clerk },
  },
  'WithdrawalApproved.v1': {
    type: 'WithdrawalApproved',
    data: {
      ...withdrawal,
      at: '2026-03-01T10:07:00.000Z',
      by: 'user:0a9e7c35-2f57-4a44-9f3f-0f4dd8f8f4c2',
      accountNumber: 'TR330006100519786457841326',
      approvedAmountMinor: 99_999_999n,
    },
  },
  'MerchantRegistered.v1': {
    type: 'MerchantRegistered',
    data: {
      ...merchant,
      settings: {
        name: 'Blue Shop',
        callbackUrl: 'https://shop.example/callbacks',
        allowIps: ['203.0.113.7', '2001:db8::/32'],
        sandbox: false,
        autoCancelMismatch: true,
        mismatchToleranceMinor: 50n,
        rateLimitPerSecond: 100,
        depositExpiryMinutes: 30,
        minAmountMinor: 100n,
        maxAmountMinor: 99_999_999n,
        requireNativeHash: false,
        requireSignature: 'none',
        callbackOnCreate: false,
        returnUrl: null,
        frameAncestors: [],
        manualControlAboveMinor: null,
        approvalAboveMinor: null,
        paymentInstructions: [],
      },
      apiKeySha256: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
      secretKey: sealed,
      webhookSecret: sealed,
    },
  },
  'MerchantRegistered.v2': {
    type: 'MerchantRegistered',
    data: {
      ...merchant,
      settings: {
        name: 'Blue Shop',
        callbackUrl: 'https://shop.example/callbacks',
        allowIps: ['203.0.113.7', '2001:db8::/32'],
        sandbox: false,
        autoCancelMismatch: true,
        mismatchToleranceMinor: 50n,
        rateLimitPerSecond: 100,
        depositExpiryMinutes: 30,
        minAmountMinor: 100n,
        maxAmountMinor: 99_999_999n,
        requireNativeHash: false,
        requireSignature: 'none',
        callbackOnCreate: false,
        returnUrl: 'https://shop.example/basket',
        frameAncestors: ['https://shop.example'],
        manualControlAboveMinor: 500_000n,
        approvalAboveMinor: null,
        paymentInstructions: [],
      },
      apiKeySha256: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
      secretKey: sealed,
      webhookSecret: sealed,
    },
  },
  'MerchantRegistered.v3': {
    type: 'MerchantRegistered',
    data: {
      ...merchant,
      settings: {
        name: 'Blue Shop',
        callbackUrl: 'https://shop.example/callbacks',
        allowIps: ['203.0.113.7', '2001:db8::/32'],
        sandbox: false,
        autoCancelMismatch: true,
        mismatchToleranceMinor: 50n,
        rateLimitPerSecond: 100,
        depositExpiryMinutes: 30,
        minAmountMinor: 100n,
        maxAmountMinor: 99_999_999n,
        requireNativeHash: false,
        requireSignature: 'withdrawals',
        callbackOnCreate: false,
        returnUrl: 'https://shop.example/basket',
        frameAncestors: ['https://shop.example'],
        manualControlAboveMinor: 500_000n,
        approvalAboveMinor: null,
        paymentInstructions: [
          { paymentMethod: 2, text: 'Transfer to TR33 0006 1005 1978 6457 8413 26.\nWrite the reference.' },
        ],
      },
      apiKeySha256: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
      secretKey: sealed,
      webhookSecret: sealed,
    },
  },
  'MerchantRegistered.v4': {
    type: 'MerchantRegistered',
    data: {
      ...merchant,
      settings: {
        name: 'Blue Shop',
        callbackUrl: 'https://shop.example/callbacks',
        allowIps: ['203.0.113.7', '2001:db8::/32'],
        sandbox: false,
        autoCancelMismatch: true,
        mismatchToleranceMinor: 50n,
        rateLimitPerSecond: 100,
        depositExpiryMinutes: 30,
        minAmountMinor: 100n,
        maxAmountMinor: 99_999_999n,
        requireNativeHash: false,
        requireSignature: 'withdrawals',
        callbackOnCreate: false,
        returnUrl: 'https://shop.example/basket',
        frameAncestors: ['https://shop.example'],
        manualControlAboveMinor: 500_000n,
        approvalAboveMinor: 1_000_000n,
        paymentInstructions: [
          { paymentMethod: 2, text: 'Transfer to TR33 0006 1005 1978 6457 8413 26.\nWrite the reference.' },
        ],
      },
      apiKeySha256: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
      secretKey: sealed,
      webhookSecret: sealed,
    },
  },
  'MerchantSettingsChanged.v1': {
    type: 'MerchantSettingsChanged',
    data: { ...merchant, changes: { allowIps: [], mismatchToleranceMinor: 0n, sandbox: true } },
  },
  'MerchantSettingsChanged.v2': {
    type: 'MerchantSettingsChanged',
    data: {
      ...merchant,
      changes: {
        allowIps: [],
        mismatchToleranceMinor: 0n,
        sandbox: true,
        returnUrl: null,
        frameAncestors: ['https://shop.example', 'https://www.shop.example:8443'],
        manualControlAboveMinor: null,
      },
    },
  },
  'MerchantSettingsChanged.v3': {
    type: 'MerchantSettingsChanged',
    data: { ...merchant, changes: { requireSignature: 'all', paymentInstructions: [] } },
  },
  'MerchantSettingsChanged.v4': {
    type: 'MerchantSettingsChanged',
    data: { ...merchant, changes: { approvalAboveMinor: 1_000_000n } },
  },
  'ApiKeyRotated.v1': {
    type: 'ApiKeyRotated',
    data: { ...rotation, apiKeySha256: '60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752' },
  },
  'ApiKeyCreated.v1': {
    type: 'ApiKeyCreated',
    data: {
      ...merchant,
      name: 'accounting',
      apiKeySha256: '60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752',
      scopes: ['read', 'deposits'],
      validUntil: '2027-03-01T00:00:00.000Z',
    },
  },
  'ApiKeyCreated.v2': {
    type: 'ApiKeyCreated',
    data: {
      ...merchant,
      name: 'accounting',
      apiKeySha256: '60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752',
      scopes: ['read', 'settlement'],
      validUntil: '2027-03-01T00:00:00.000Z',
    },
  },
  'ApiKeyRevoked.v1': { type: 'ApiKeyRevoked', data: { ...merchant, keyId: '60303ae22b99' } },
  'SecretKeyRotated.v1': { type: 'SecretKeyRotated', data: { ...rotation, secretKey: sealed, gradual: false } },
  'SecretKeyRotated.v2': { type: 'SecretKeyRotated', data: { ...rotation, secretKey: sealed, gradual: true } },
  'SecretKeyTakenUp.v1': { type: 'SecretKeyTakenUp', data: { ...merchant, number: 1 } },
  'MerchantSecretsResealed.v1': {
    type: 'MerchantSecretsResealed',
    data: {
      ...merchant,
      secretKeys: [
        { number: 1, secretKey: sealed },
        { number: 0, secretKey: sealed },
      ],
      webhookSecret: sealed,
      previousWebhookSecret: null,
    },
  },
  'WebhookSecretRotated.v1': { type: 'WebhookSecretRotated', data: { ...rotation, webhookSecret: sealed } },
  'MerchantSuspended.v1': { type: 'MerchantSuspended', data: merchant },
  'MerchantResumed.v1': { type: 'MerchantResumed', data: merchant },
  'CallbackEndpointDisabled.v1': {
    type: 'CallbackEndpointDisabled',
    data: { ...merchant, reason: 'answered 410 Gone' },
  },
  'CallbackEndpointEnabled.v1': { type: 'CallbackEndpointEnabled', data: merchant },
  'CallbackEndpointFailing.v1': {
    type: 'CallbackEndpointFailing',
    data: { ...merchant, since: '2026-03-01T08:45:00.000Z' },
  },
  'CallbackEndpointRecovered.v1': { type: 'CallbackEndpointRecovered', data: merchant },
  'CallbackSweepAdvanced.v1': {
    type: 'CallbackSweepAdvanced',
    data: { event: null, at: '2026-03-01T09:00:00.000Z' },
  },
  'CallbackSweepAdvanced.v2': {
    type: 'CallbackSweepAdvanced',
    data: {
      event: { stream: 'transfer-0d6c4f3a-5a2b-5d8e-9f10-2b3c4d5e6f70', revision: 1 },
      at: '2026-03-01T09:00:00.000Z',
    },
  },
  'CallbackRecorded.v1': {
    type: 'CallbackRecorded',
    data: {
      ...callback,
      transferRevision: 1,
      payload: {
        status: 2,
        referenceId: '3f0c4c7e-8f6b-4d0a-9a52-6a4b6e5d1c01',
        message: null,
        amountMinor: 10_050n,
        transactionAmountMinor: 9_500n,
        hasAmountMismatch: true,
        receiptUrl: 'https://bank.example/receipts/77',
      },
    },
  },
  'CallbackDelivered.v1': { type: 'CallbackDelivered', data: { ...attempt, httpStatus: 200 } },
  'CallbackAttemptFailed.v1': {
    type: 'CallbackAttemptFailed',
    data: { ...attempt, httpStatus: null, reason: 'no answer in time', nextAttemptAt: '2026-03-01T10:10:03.000Z' },
  },
  'CallbackParked.v1': { type: 'CallbackParked', data: { ...attempt, reason: 'answered 503' } },
  'CallbackRequeued.v1': { type: 'CallbackRequeued', data: callback },
  'WalletLoggedIn.v1': { type: 'WalletLoggedIn', data: { ...challenge, accountNumber: 481_920_375_566 } },
  'WalletCodeAttempted.v1': { type: 'WalletCodeAttempted', data: { ...challenge, attempt: 1 } },
  'WalletCodeVerified.v1': { type: 'WalletCodeVerified', data: challenge },
  'WalletDeviceQuestioned.v1': {
    type: 'WalletDeviceQuestioned',
    data: { ...challenge, expiresAt: '2026-03-01T10:13:00.000Z' },
  },
  'WalletDeviceConfirmed.v1': { type: 'WalletDeviceConfirmed', data: challenge },
  'WalletCollectionStarted.v1': {
    type: 'WalletCollectionStarted',
    data: { ...challenge, collection: 1, accountNumber: 481_920_375_566, amountMinor: 10_050n },
  },
  'WalletCollectionEnded.v1': {
    type: 'WalletCollectionEnded',
    data: {
      ...payment,
      collection: 1,
      outcome: 'collected',
      collectedAmountMinor: 10_050n,
      receiptUrl: 'https://wallet.example/receipts/77',
      reason: null,
    },
  },
  'WalletCollectionEnded.v2': {
    type: 'WalletCollectionEnded',
    data: {
      ...payment,
      collection: 1,
      outcome: 'refused',
      collectedAmountMinor: 0n,
      receiptUrl: null,
      reason: 'account-blocked',
    },
  },
  'WalletCodeRefused.v1': {
    type: 'WalletCodeRefused',
    data: { ...challenge, accountNumber: 481_920_375_566, attempt: 3 },
  },
  'WalletLogInFailed.v1': { type: 'WalletLogInFailed', data: { ...payment, device: null, failure: 3 } },
  'WalletLogInDeviceKnown.v1': {
    type: 'WalletLogInDeviceKnown',
    data: { ...payment, device: 'rT9mQ2v8yK4wZ1xB6nC3jF7hD5sA0pLqE8uGtVYiOeM' },
  },
  'HashCodeSeen.v1': {
    type: 'HashCodeSeen',
    data: {
      merchantId,
      kind: 'deposit',
      amountText: '100.50',
      referenceId: '3f0c4c7e-8f6b-4d0a-9a52-6a4b6e5d1c01',
      at: '2026-03-01T10:00:00.000Z',
    },
  },
  'WalletAccountOpened.v1': {
    type: 'WalletAccountOpened',
    data: {
      ...walletAccount,
      emailMac: 'p0Hk1m3b6jXb1rM2m8m0K2bq6o7n4r5T8y9u0I1O2P3',
      email: sealed,
      phone: sealed,
      passwordHash: '$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHRzYWx0c2FsdA$9mZ4bB0kq0S3q8YkqV1l7Jv0wXcQ2oT6rU5yN4hM3gE',
      sandbox: false,
    },
  },
  'WalletAccountCredited.v1': {
    type: 'WalletAccountCredited',
    data: { ...walletAccount, reference: 'top-up 77', amountMinor: 50_000n },
  },
  'WalletAccountDebited.v1': { type: 'WalletAccountDebited', data: walletPayment },
  'WalletDebitRefused.v1': { type: 'WalletDebitRefused', data: walletPayment },
  'WalletContactResealed.v1': {
    type: 'WalletContactResealed',
    data: { ...walletAccount, email: sealed, phone: sealed },
  },
  'WalletDeviceTrusted.v1': {
    type: 'WalletDeviceTrusted',
    data: {
      accountNumber: 481_920_375_566,
      device: 'Zb0Hk1m3b6jXb1rM2m8m0K2bq6o7n4r5T8y9u0I1O2P',
      at: '2026-03-01T10:04:00.000Z',
    },
  },
  'WalletEmailReserved.v1': { type: 'WalletEmailReserved', data: walletAccount },
  'UserCreated.v1': {
    type: 'UserCreated',
    data: {
      ...user,
      emailMac: 'Qm9vUm9vQm9vUm9vQm9vUm9vQm9vUm9vQm9vUm9vQm8',
      email: sealed,
      name: 'Ayşe Yılmaz',
      role: 'operator',
      merchantIds: [merchantId],
      passwordHash,
      temporary: true,
    },
  },
  'UserRoleChanged.v1': { type: 'UserRoleChanged', data: { ...user, role: 'auditor', merchantIds: null } },
  'UserDisabled.v1': { type: 'UserDisabled', data: user },
  'UserEnabled.v1': { type: 'UserEnabled', data: user },
  'UserPasswordSet.v1': { type: 'UserPasswordSet', data: { ...user, passwordHash, temporary: false } },
  'UserSecondFactorSet.v1': {
    type: 'UserSecondFactorSet',
    data: { ...user, secret: sealed, codeCounter: 59_078_880 },
  },
  'UserSecondFactorRemoved.v1': { type: 'UserSecondFactorRemoved', data: user },
  'UserSignedIn.v1': { type: 'UserSignedIn', data: { ...user, codeCounter: 59_078_881 } },
  'UserConfirmed.v1': { type: 'UserConfirmed', data: { ...user, codeCounter: null } },
  'UserSessionsEnded.v1': { type: 'UserSessionsEnded', data: user },
  'UserSecretsResealed.v1': { type: 'UserSecretsResealed', data: { ...user, email: sealed, secondFactor: null } },
  'UserEmailReserved.v1': { type: 'UserEmailReserved', data: user },
  'UserSignInFailed.v1': { type: 'UserSignInFailed', data: { device: null, failure: 3, at: user.at } },
  'UserSignInDeviceKnown.v1': {
    type: 'UserSignInDeviceKnown',
    data: { device: 'Yb1nYb1nYb1nYb1nYb1nYg', at: user.at },
  },
  'DigestKeySealed.v1': {
    type: 'DigestKeySealed',
    data: { sealed, reason: 'the key of 2025 is lost, ticket 204', at: '2026-03-01T09:00:00.000Z' },
  },
  'IntegrityViolated.v1': {
    type: 'IntegrityViolated',
    data: {
      kind: 'log',
      place: 'transfer-6f6a5c0e-52a1-4f0e-9d2b-0f0f5d3c1a11@3',
      leafIndex: 1_204,
      problem: 'The event is not the one that was sealed.',
      treeSize: 20_000,
      at: '2026-03-01T12:00:00.000Z',
    },
  },
  'PayoutsResumed.v1': {
    type: 'PayoutsResumed',
    data: { reason: 'restored from the backup of yesterday, nothing was paid since', at: '2026-03-01T12:30:00.000Z' },
  },
  'StreamsListed.v1': {
    type: 'StreamsListed',
    data: {
      after: { stream: 'transfer-0d6c4f3a-5a2b-5d8e-9f10-2b3c4d5e6f70', revision: 1 },
      through: { stream: 'callback-0d6c4f3a-5a2b-5d8e-9f10-2b3c4d5e6f70', revision: 0 },
      streams: ['merchant-6f6a5c0e-52a1-4f0e-9d2b-0f0f5d3c1a11'],
      at: '2026-03-01T13:00:00.000Z',
    },
  },
  'EventSkipped.v1': {
    type: 'EventSkipped',
    data: {
      stream: 'merchant-6f6a5c0e-52a1-4f0e-9d2b-0f0f5d3c1a11',
      revision: 3,
      eventId: '0d9c7a51-2f0b-4c38-8f5e-7f1e3a5b9c21',
      eventType: 'MerchantSuspendedd',
      problem: 'unknown event MerchantSuspendedd in this stream',
      reason: 'written by hand on a test machine',
      at: '2026-03-01T12:00:00.000Z',
    },
  },
  'PersonalDataErased.v1': {
    type: 'PersonalDataErased',
    data: { ...deposit, paymentMethod: 1, createdAt: '2026-03-01T10:00:00.000Z' },
  },
  'CustomerErased.v1': {
    type: 'CustomerErased',
    data: {
      erasureId: 'Zx4mT9QpL2sVb7NcR1yKwA',
      merchantId,
      trackingIds: [trackingId],
      reason: 'asked for by the customer',
      at: '2026-03-01T12:00:00.000Z',
    },
  },
  'ErasureCompleted.v1': {
    type: 'ErasureCompleted',
    data: { erasureId: 'Zx4mT9QpL2sVb7NcR1yKwA', transfers: 1, at: '2026-03-01T12:00:01.000Z' },
  },
}
