import t from 'tap'
import {
  type Merchant,
  type MerchantCommand,
  merchantDecider,
  validValues,
} from '../../src/domain/merchant/merchant.js'
import type { MerchantEvent, MerchantSettings } from '../../src/domain/merchant/merchant-events.js'
import { specification } from '../support/given-when-then.js'
import { merchantId, register, registered, registeredAt, settings } from './merchant-samples.js'

const { given, fold } = specification(merchantDecider)
const at = '2026-03-01T10:00:00.000Z'
const validUntil = '2026-03-01T11:00:00.000Z'
const merchant = (...events: MerchantEvent[]) => fold([registered, ...events]) as Merchant

const changeSettings = (changes: Partial<MerchantSettings>): MerchantCommand => ({
  type: 'ChangeSettings',
  changes,
  at,
})
const settingsChanged = (changes: Partial<MerchantSettings>): MerchantEvent => ({
  type: 'MerchantSettingsChanged',
  data: { merchantId, changes, at },
})

t.test('registers a merchant once', async () => {
  given().when(register).then([registered])
  given(registered).when(register).then('conflict')
})

t.test('a new merchant is not suspended, receives callbacks, and has one of each credential', async (t) => {
  t.strictSame(merchant(), {
    merchantId,
    settings,
    logoSha256: null,
    apiKeys: [
      {
        sha256: 'a'.repeat(64),
        name: 'main',
        scopes: ['read', 'deposits', 'withdrawals'],
        validUntil: null,
        createdAt: registeredAt,
      },
    ],
    secretKeys: { all: [{ number: 0, sealed: 'v1.secret.1', validUntil: null }], takenUp: 0 },
    webhookSecret: { current: 'v1.webhook.1' },
    suspended: false,
    proposedThreshold: null,
    callbacksDisabled: null,
    endpointChangedAt: registeredAt,
    createdAt: registeredAt,
  })
})

t.test('the endpoint is changed by another URL and by enabling it, and by nothing else', async (t) => {
  const changed = (changes: object) => ({ type: 'MerchantSettingsChanged', data: { merchantId, changes, at } }) as const
  const disabled = { type: 'CallbackEndpointDisabled', data: { merchantId, reason: 'failing', at } } as const
  t.equal(merchant(changed({ callbackUrl: 'https://shop.example/other' })).endpointChangedAt, at)
  t.equal(merchant(disabled, { type: 'CallbackEndpointEnabled', data: { merchantId, at } }).endpointChangedAt, at)
  for (const event of [changed({ name: 'Other' }), disabled]) t.equal(merchant(event).endpointChangedAt, registeredAt)
})

t.test('rejects every command for a nonexistent merchant as not found', async () => {
  const commands: MerchantCommand[] = [
    changeSettings({ name: 'Other' }),
    { type: 'RotateApiKey', apiKeySha256: 'b'.repeat(64), previousValidUntil: validUntil, at },
    { type: 'CreateApiKey', apiKeySha256: 'b'.repeat(64), name: 'shop', scopes: ['read'], validUntil: null, at },
    { type: 'RevokeApiKey', keyId: 'a'.repeat(12), at },
    { type: 'RotateSecretKey', secretKey: 'v1.2', previousValidUntil: validUntil, at },
    { type: 'TakeUpSecretKey', number: 1, at },
    { type: 'RotateWebhookSecret', webhookSecret: 'v1.2', previousValidUntil: validUntil, at },
    { type: 'ConfirmThreshold', by: 'user:a', at },
    { type: 'Suspend', at },
    { type: 'Resume', at },
    { type: 'DisableCallbacks', reason: 'gone', at },
    { type: 'EnableCallbacks', at },
  ]
  for (const command of commands) given().when(command).then('not-found', command.type)
})

t.test('throws for a history that starts with a change', async (t) => {
  t.throws(() => fold([{ type: 'MerchantSuspended', data: { merchantId, at } }]), /before it was registered/)
})

const proposed = (
  approvalAboveMinor: bigint | null,
  by = 'user:a',
  limits: Partial<Pick<MerchantSettings, 'withdrawalLimits' | 'approvalOverDay'>> = {},
): MerchantEvent => {
  const { withdrawalLimits = null, approvalOverDay = null } = limits
  return {
    type: 'ApprovalThresholdProposed',
    data: { merchantId, at, by, approvalAboveMinor, withdrawalLimits, approvalOverDay },
  }
}

t.test('raising or removing the threshold waits for another administrator, and lowering it does not', async () => {
  const threshold = settingsChanged({ approvalAboveMinor: 100_00n })
  const change = (changes: Partial<MerchantSettings>): MerchantCommand => ({
    ...{ type: 'ChangeSettings', changes, heldBy: 'user:a', at },
  })
  const confirm = (by: string): MerchantCommand => ({ type: 'ConfirmThreshold', by, at })
  for (const approvalAboveMinor of [null, 100_01n]) {
    given(registered, threshold)
      .when(change({ approvalAboveMinor, name: 'Red Shop' }))
      .then([settingsChanged({ name: 'Red Shop' }), proposed(approvalAboveMinor)])
    given(registered, threshold)
      .when(changeSettings({ approvalAboveMinor }))
      .then([settingsChanged({ approvalAboveMinor })])
    const waiting = [registered, threshold, proposed(approvalAboveMinor)]
    given(...waiting)
      .when(confirm('user:a'))
      .then('conflict')
    for (const by of ['user:b', 'cli:root'])
      given(...waiting)
        .when(confirm(by))
        .then([settingsChanged({ approvalAboveMinor })])
    given(...waiting)
      .when(change({ approvalAboveMinor: 100_00n }))
      .then([threshold])
    given(...waiting, threshold)
      .when(confirm('user:b'))
      .then([])
    given(...waiting, settingsChanged({ approvalAboveMinor: 50_00n }))
      .when(confirm('user:b'))
      .then([])
    given(...waiting, settingsChanged({ name: 'Red Shop' }), proposed(500_00n, 'user:b'))
      .when(confirm('user:b'))
      .then('conflict')
  }
  given(registered)
    .when(change({ approvalAboveMinor: 100_00n }))
    .then([threshold])
  given(registered, threshold)
    .when(change({ approvalAboveMinor: 99_99n }))
    .then([settingsChanged({ approvalAboveMinor: 99_99n })])
  given(registered, threshold)
    .when(change({ approvalAboveMinor: 100_00n }))
    .then([])
  given(registered, threshold).when(confirm('user:b')).then([])
})

t.test('raising or removing a limit waits for another administrator, and lowering or adding one does not', async () => {
  const day = { per: 'account', hours: 24, count: 5, amountMinor: 1_000_00n } as const
  const month = { ...day, hours: 720, amountMinor: null } as const
  const history = [
    registered,
    settingsChanged({ approvalAboveMinor: 100_00n, approvalOverDay: true, withdrawalLimits: [day, month] }),
  ]
  const change = (changes: Partial<MerchantSettings>): MerchantCommand => ({
    ...{ type: 'ChangeSettings', changes, heldBy: 'user:a', at },
  })
  const confirm = (by: string): MerchantCommand => ({ type: 'ConfirmThreshold', by, at })
  const looser: readonly MerchantSettings['withdrawalLimits'][] = [
    [],
    [day],
    [{ ...day, count: 6 }, month],
    [{ ...day, count: null }, month],
    [{ ...day, amountMinor: 1_000_01n }, month],
    [{ ...day, amountMinor: null }, month],
    [{ ...day, per: 'customer' }, month],
    [{ ...day, count: 6, amountMinor: 1n }, month],
  ]
  for (const withdrawalLimits of looser) {
    given(...history)
      .when(change({ withdrawalLimits, name: 'Red Shop' }))
      .then([settingsChanged({ name: 'Red Shop' }), proposed(100_00n, 'user:a', { withdrawalLimits })])
    given(...history)
      .when(changeSettings({ withdrawalLimits }))
      .then([settingsChanged({ withdrawalLimits })])
    const waiting = [...history, proposed(100_00n, 'user:a', { withdrawalLimits })]
    given(...waiting)
      .when(confirm('user:a'))
      .then('conflict')
    given(...waiting)
      .when(confirm('user:b'))
      .then([settingsChanged({ approvalAboveMinor: 100_00n, withdrawalLimits })])
    given(...waiting)
      .when(change({ approvalAboveMinor: 100_00n }))
      .then([settingsChanged({ approvalAboveMinor: 100_00n })])
    // A stricter limit since then ends the proposal, which would raise it.
    given(...waiting, settingsChanged({ withdrawalLimits: [{ ...day, count: 1 }, month] }))
      .when(confirm('user:b'))
      .then([])
  }
  const stricter: readonly MerchantSettings['withdrawalLimits'][] = [
    [month, { ...day, count: 4 }],
    [day, { ...month, amountMinor: 5n }],
    [day, month, { ...day, per: 'merchant' }],
  ]
  for (const withdrawalLimits of stricter)
    given(...history)
      .when(change({ withdrawalLimits }))
      .then([settingsChanged({ withdrawalLimits })])
  given(...history)
    .when(change({ withdrawalLimits: [{ ...day }, { ...month }] }))
    .then([])
  given(...history)
    .when(change({ approvalOverDay: false }))
    .then([proposed(100_00n, 'user:a', { approvalOverDay: false })])
  given(...history, proposed(100_00n, 'user:a', { approvalOverDay: false }))
    .when(confirm('user:b'))
    .then([settingsChanged({ approvalAboveMinor: 100_00n, approvalOverDay: false })])
  given(registered)
    .when(change({ approvalOverDay: true }))
    .then([settingsChanged({ approvalOverDay: true })])
  // All of them wait together, and the stricter part of the same change does not.
  given(...history)
    .when(change({ approvalAboveMinor: null, withdrawalLimits: [], approvalOverDay: false }))
    .then([proposed(null, 'user:a', { withdrawalLimits: [], approvalOverDay: false })])
  given(...history)
    .when(change({ approvalAboveMinor: 50_00n, withdrawalLimits: [] }))
    .then([settingsChanged({ approvalAboveMinor: 50_00n }), proposed(100_00n, 'user:a', { withdrawalLimits: [] })])
})

t.test('changes each setting separately, and records only settings that differ', async (t) => {
  const others: MerchantSettings = {
    name: 'Red Shop',
    callbackUrl: 'https://shop.example/other',
    allowIps: ['203.0.113.7'],
    sandbox: true,
    autoCancelMismatch: true,
    mismatchToleranceMinor: 1n,
    manualControlAboveMinor: 1n,
    approvalAboveMinor: 1n,
    withdrawalLimits: [{ per: 'account', hours: 24, count: 5, amountMinor: 1n }],
    approvalOverDay: true,
    rateLimitPerSecond: 101,
    depositExpiryMinutes: 31,
    minAmountMinor: 101n,
    maxAmountMinor: 99_999_998n,
    requireNativeHash: true,
    requireSignature: 'all',
    callbackOnCreate: true,
    callbackOnMoney: true,
    returnUrl: 'https://shop.example/',
    frameAncestors: ['https://shop.example'],
    paymentInstructions: [{ paymentMethod: 2, text: 'Transfer it.' }],
  }
  for (const [name, value] of Object.entries(others)) {
    const changes = { [name]: value }
    given(registered)
      .when(changeSettings(changes))
      .then([settingsChanged(changes)], name)
    given(registered)
      .when(changeSettings({ ...settings, ...changes }))
      .then([settingsChanged(changes)], `only ${name} is recorded if all settings are given`)
    given(registered, settingsChanged(changes)).when(changeSettings(changes)).then([], `a repeated change of ${name}`)
    t.strictSame(merchant(settingsChanged(changes)).settings, { ...settings, ...changes })
  }
  given(registered).when(changeSettings({})).then([])
  given(registered).when(changeSettings(settings)).then([])
})

t.test('compares allow-lists entry by entry, including the order', async () => {
  given(registered)
    .when(changeSettings({ allowIps: [...settings.allowIps] }))
    .then([], 'an equal list changes nothing')
  for (const allowIps of [[], [...settings.allowIps].reverse(), [...settings.allowIps, '::1']]) {
    given(registered)
      .when(changeSettings({ allowIps }))
      .then([settingsChanged({ allowIps })], allowIps.join())
  }
  given(registered, settingsChanged({ allowIps: ['a', 'b'] }))
    .when(changeSettings({ allowIps: ['a,b'] }))
    .then([settingsChanged({ allowIps: ['a,b'] })], 'an entry that contains a comma differs from two entries')
})

const [first, second, third] = ['v1.webhook.1', 'v1.webhook.2', 'v1.webhook.3']
const rotated = (webhookSecret: string, previousValidUntil: string, rotatedAt = at): MerchantEvent => ({
  type: 'WebhookSecretRotated',
  data: { merchantId, webhookSecret, previousValidUntil, at: rotatedAt },
})
const valid = (time: string, ...events: MerchantEvent[]) => validValues(merchant(...events).webhookSecret, time)

t.test(
  `RotateWebhookSecret keeps both valid until the overlap ends, the new one first, and only the new one afterwards`,
  async (t) => {
    given(registered)
      .when({ type: 'RotateWebhookSecret', webhookSecret: second, previousValidUntil: validUntil, at })
      .then([rotated(second, validUntil)])
    t.strictSame(valid(at, rotated(second, validUntil)), [second, first])
    t.strictSame(valid('2026-03-01T10:59:59.999Z', rotated(second, validUntil)), [second, first])
    t.strictSame(valid(validUntil, rotated(second, validUntil)), [second])
    t.strictSame(valid('2026-03-02T00:00:00.000Z', rotated(second, validUntil)), [second])
  },
)

t.test(`RotateWebhookSecret without overlap revokes all previous ones immediately`, async (t) => {
  t.strictSame(valid(at, rotated(second, at)), [second])
  t.strictSame(valid(registeredAt, rotated(second, at)), [second], 'the previous one is revoked even if the clock lags')
  t.strictSame(valid(at, rotated(second, validUntil), rotated(third, at)), [third])
  t.strictSame(
    valid(at, rotated(second, '2026-03-01T09:59:00.000Z')),
    [second],
    'an overlap that ended in the past revokes the previous one',
  )
})

t.test(`RotateWebhookSecret twice within the overlap keeps only the newest two valid`, async (t) => {
  const twice = [rotated(second, validUntil), rotated(third, '2026-03-01T12:00:00.000Z', '2026-03-01T10:30:00.000Z')]
  t.strictSame(valid('2026-03-01T10:30:00.000Z', ...twice), [third, second])
  t.strictSame(valid('2026-03-01T12:00:00.000Z', ...twice), [third])
})

t.test(`RotateWebhookSecret leaves the other credentials and the settings unchanged`, async (t) => {
  const { webhookSecret: _before, ...before } = merchant()
  const { webhookSecret: _after, ...after } = merchant(rotated(second, validUntil))
  t.strictSame(after, before)
})

t.test('suspends and resumes, and a repeat changes nothing', async (t) => {
  const suspended: MerchantEvent = { type: 'MerchantSuspended', data: { merchantId, at } }
  const resumed: MerchantEvent = { type: 'MerchantResumed', data: { merchantId, at } }
  given(registered).when({ type: 'Suspend', at }).then([suspended])
  given(registered, suspended).when({ type: 'Suspend', at }).then([])
  given(registered, suspended).when({ type: 'Resume', at }).then([resumed])
  given(registered).when({ type: 'Resume', at }).then([])
  given(registered, suspended, resumed).when({ type: 'Suspend', at }).then([suspended])
  t.equal(merchant(suspended).suspended, true)
  t.equal(merchant(suspended, resumed).suspended, false)
  t.strictSame({ ...merchant(suspended), suspended: false }, merchant(), 'suspension changes nothing else')
})

t.test('a suspended merchant can still be configured', async () => {
  const suspended: MerchantEvent = { type: 'MerchantSuspended', data: { merchantId, at } }
  given(registered, suspended)
    .when(changeSettings({ name: 'Red Shop' }))
    .then([settingsChanged({ name: 'Red Shop' })])
  given(registered, suspended)
    .when({ type: 'DisableCallbacks', reason: 'gone', at })
    .then([{ type: 'CallbackEndpointDisabled', data: { merchantId, reason: 'gone', at } }])
})

t.test('disables and enables callbacks, and a repeat keeps the first reason', async (t) => {
  const disabled: MerchantEvent = { type: 'CallbackEndpointDisabled', data: { merchantId, reason: '410 Gone', at } }
  const enabled: MerchantEvent = { type: 'CallbackEndpointEnabled', data: { merchantId, at } }
  given(registered).when({ type: 'DisableCallbacks', reason: '410 Gone', at }).then([disabled])
  given(registered, disabled).when({ type: 'DisableCallbacks', reason: 'other', at }).then([])
  given(registered, disabled).when({ type: 'EnableCallbacks', at }).then([enabled])
  given(registered).when({ type: 'EnableCallbacks', at }).then([])
  t.equal(merchant(disabled).callbacksDisabled, '410 Gone')
  t.equal(merchant(disabled, enabled).callbacksDisabled, null)
})

t.test('disables callbacks even with an empty reason', async () => {
  const disabled: MerchantEvent = { type: 'CallbackEndpointDisabled', data: { merchantId, reason: '', at } }
  given(registered, disabled)
    .when({ type: 'EnableCallbacks', at })
    .then([{ type: 'CallbackEndpointEnabled', data: { merchantId, at } }])
})
