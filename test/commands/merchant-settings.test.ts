import t from 'tap'
import { CallbackNetworks } from '../../src/commands/merchant/callback-networks.js'
import { MerchantCommands } from '../../src/commands/merchant/merchant-commands.js'
import { changeMerchantSettings, settingsRefusal } from '../../src/commands/merchant/settings-changes.js'
import { createSecretBox } from '../../src/security/secret-box.js'
import { settings } from '../domain/merchant-samples.js'
import { context, openTestStore } from '../support/embedded-store.js'

const others = { paymentMethods: [], networks: new CallbackNetworks([], () => false) }
const yen = { ...others, currency: { code: 'JPY', decimals: 0 } } as const
const lira = { ...others, currency: { code: 'TRY', decimals: 2 } } as const

t.test('validates changes together with the existing settings and names the refused setting', async (t) => {
  const before = { ...settings, sandbox: false, callbackUrl: 'https://shop.example/', minAmountMinor: 500n }
  t.equal(settingsRefusal(before, {}, lira), undefined)
  t.match(settingsRefusal(before, { maxAmountMinor: 400n }, lira), { field: 'minAmountMinor' })
  t.match(settingsRefusal(before, { callbackUrl: 'https://10.0.0.1/' }, lira), {
    field: 'callbackUrl',
    rule: 'url-not-allowed',
  })
  t.match(settingsRefusal(before, { allowIps: ['10.0.0.1', '10.0.0.0/33'] }, lira), {
    field: 'allowIps',
    rule: 'ip-range-invalid',
    values: { range: '"10.0.0.0/33"' },
  })
  const wrong = { paymentInstructions: [{ paymentMethod: 7, text: 'by post' }] }
  t.match(settingsRefusal(before, wrong, lira), { field: 'paymentInstructions' })
  t.equal(
    settingsRefusal({ ...before, ...wrong }, { name: 'Shop' }, lira),
    undefined,
    'does not validate unchanged settings, because a method can be removed later',
  )
  t.match(settingsRefusal(before, { approvalAboveMinor: 150n }, yen), {
    field: 'approvalAboveMinor',
    rule: 'whole-amount',
  })
  t.equal(settingsRefusal(before, { approvalAboveMinor: 500n }, yen), undefined)
})

t.test('setting the callback URL enables disabled callbacks, even if the URL is unchanged', async (t) => {
  const store = await openTestStore(t)
  const commands = new MerchantCommands(store, () => '2026-03-01T10:00:00.000Z', createSecretBox(Buffer.alloc(32, 7)))
  const { id } = await commands.register(settings, context)
  await commands.execute(id, { type: 'DisableCallbacks', reason: 'no receiver yet' }, context)
  const renamed = await changeMerchantSettings(commands, id, { name: 'Other' }, context)
  t.match(renamed, { changed: true, merchant: { callbacksDisabled: 'no receiver yet' } })
  const { callbackUrl } = settings
  const withUrl = await changeMerchantSettings(commands, id, { callbackUrl }, context)
  t.match(withUrl, { changed: true, merchant: { callbacksDisabled: null } })
  t.match(await changeMerchantSettings(commands, id, { callbackUrl }, context), { changed: false })
  t.match(await changeMerchantSettings(commands, 'unknown', { callbackUrl }, context), { accepted: false })
})
