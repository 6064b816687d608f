import t from 'tap'
import { pageModule } from './page-module.js'

const { changedSettings } = await pageModule<{
  changedSettings(data: FormData, shown: typeof shownSettings, manualMethods: readonly number[]): object
}>('pages/merchants/changed-settings.ts')

const shownSettings = {
  name: 'Kıyı Kitabevi',
  callbackUrl: 'https://shop.example.com/callbacks',
  allowIps: ['203.0.113.0/24', '2001:db8::/48'],
  sandbox: false,
  autoCancelMismatch: false,
  mismatchToleranceMinor: 0,
  manualControlAboveMinor: null as number | null,
  approvalAboveMinor: 1_000_000 as number | null,
  approvalOverDay: false,
  withdrawalLimits: [{ per: 'account', hours: 24, count: 5, amountMinor: 200_000 }],
  rateLimitPerSecond: 100,
  depositExpiryMinutes: 30,
  minAmountMinor: 100,
  maxAmountMinor: 99_999_999,
  requireNativeHash: true,
  requireSignature: 'withdrawals',
  callbackOnCreate: false,
  callbackOnMoney: false,
  returnUrl: null as string | null,
  frameAncestors: [] as readonly string[],
  paymentInstructions: [{ paymentMethod: 2, text: 'First line\nSecond line' }],
}

/** Returns the form data that a browser sends. */
function form(changes: { readonly [field: string]: string | null } = {}): FormData {
  const data = new FormData()
  const unchanged = {
    name: shownSettings.name,
    callbackUrl: shownSettings.callbackUrl,
    allowIps: shownSettings.allowIps.join('\r\n'),
    returnUrl: '',
    frameAncestors: '',
    minAmountMinor: '100',
    maxAmountMinor: '99999999',
    mismatchToleranceMinor: '0',
    manualControlAboveMinor: '',
    approvalAboveMinor: '1000000',
    'withdrawalLimits.merchant.24.count': '',
    'withdrawalLimits.account.24.count': '5',
    'withdrawalLimits.account.24.amount': '200000',
    rateLimitPerSecond: '100',
    depositExpiryMinutes: '30',
    requireSignature: 'withdrawals',
    requireNativeHash: 'on',
    'instructions.2': 'First line\r\nSecond line',
    'instructions.3': '',
  }
  for (const [field, value] of Object.entries({ ...unchanged, ...changes })) if (value !== null) data.set(field, value)
  return data
}

t.test('an unchanged form changes nothing', async (t) => {
  t.strictSame(changedSettings(form(), shownSettings, [2, 3]), {})
})

t.test('sends only the changed settings, so that concurrent changes by other users are kept', async (t) => {
  const changes = {
    maxAmountMinor: '500050',
    approvalAboveMinor: '',
    manualControlAboveMinor: '0',
    returnUrl: ' https://shop.example.com/done ',
    frameAncestors: 'https://a.example\r\n\r\nhttps://b.example\r\n',
    requireNativeHash: null,
    autoCancelMismatch: 'on',
    'instructions.2': '',
    'instructions.3': 'Third',
  }
  t.strictSame(changedSettings(form(changes), shownSettings, [2, 3]), {
    maxAmountMinor: 500_050,
    approvalAboveMinor: null,
    manualControlAboveMinor: 0,
    returnUrl: 'https://shop.example.com/done',
    frameAncestors: ['https://a.example', 'https://b.example'],
    requireNativeHash: false,
    autoCancelMismatch: true,
    paymentInstructions: [{ paymentMethod: 3, text: 'Third' }],
  })
})
