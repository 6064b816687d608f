import fc from 'fast-check'
import t from 'tap'
import { settingsProblem } from '../../src/domain/merchant/merchant-settings.js'
import { type FoundDeposit, returnAddress } from '../../src/http/payment-page/deposit-view.js'
import { anyText } from '../support/any-text.js'
import { merchantSettings } from '../support/merchant-requests.js'

const trackingId = '0b7e9a52-3c1d-5f6e-8a90-1b2c3d4e5f60'

function returning(returnUrl: string, referenceId = 'order 7&x=ş'): string {
  return returnAddress({ settings: { returnUrl }, deposit: { trackingId, referenceId } } as FoundDeposit)!
}

const added = `trackingId=${trackingId}&referenceId=order%207%26x%3D%C5%9F`

t.test('adds the ids to the merchant’s own query, which is kept byte for byte', async (t) => {
  const before = [
    ['https://shop.example/back?sig=a%20b~c&next=/x/y&flag', '&'],
    ["https://shop.example/a/../b;c?q='(a+b)'&%7E|^{}&ş=%C5%9F", '&'],
    ['https://shop.example/back?a=1&', ''],
    ['https://shop.example/back?', ''],
    ['https://shop.example/back?trackingId=mine', '&'],
    ['https://shop.example/back', '?'],
    ['https://shop.example', '?'],
    ['HTTPS://Shop.Example:443/%7e', '?'],
  ] as const
  for (const [url, separator] of before) {
    t.equal(returning(url), `${url}${separator}${added}`)
    t.equal(returning(`${url}#to?x&y#z`), `${url}${separator}${added}#to?x&y#z`, 'before the fragment')
  }
})

/** Returns texts that can be parts of URLs, with many separators and escapes. */
const part = fc.oneof(
  fc.string({ unit: fc.constantFrom(...'azAZ09-._~!$&\'()*+,;=:@/?%#[]|^`{}"<> \\'), maxLength: 20 }),
  anyText({ maxLength: 8 }),
  fc.constantFrom('%20', '%7E', '%zz', '/../', '/./', '?', '&', '&&', '=', '#', '+', "'"),
)
const returnUrl = fc
  .tuple(fc.constantFrom('https://shop.example', 'http://127.0.0.1:81', 'https:shop.example'), fc.array(part))
  .map(([start, parts]) => `${start}${parts.join('')}`)
  .filter((url) => settingsProblem({ ...merchantSettings, sandbox: true, returnUrl: url }) === undefined)

t.test('keeps every accepted URL byte for byte, and its last two parameters are the ids', async () => {
  fc.assert(
    fc.property(returnUrl, fc.string({ unit: 'grapheme', minLength: 1, maxLength: 128 }), (url, referenceId) => {
      const address = returning(url, referenceId)
      const [, before = '', fragment = ''] = /^([^#]*)(#.*)?$/s.exec(url) ?? []
      const ids = [...new URL(address).searchParams].slice(-2)
      return (
        address.startsWith(before) &&
        address.endsWith(fragment) &&
        /^[?&]?trackingId=[0-9a-f-]+&referenceId=[^#&]*$/.test(
          address.slice(before.length, address.length - fragment.length),
        ) &&
        JSON.stringify(ids) ===
          JSON.stringify([
            ['trackingId', trackingId],
            ['referenceId', referenceId],
          ])
      )
    }),
    { numRuns: 1_000 },
  )
})

t.test('rejects a URL with spaces around it, which would become part of a path', async (t) => {
  for (const url of [' https://shop.example/', 'https://shop.example/ '])
    t.match(settingsProblem({ ...merchantSettings, returnUrl: url }), { field: 'returnUrl', rule: 'url-invalid' })
})
