import fc from 'fast-check'
import { type TOTP, URI } from 'otpauth'
import t from 'tap'
import { isVisible } from '../../src/kernel/text.js'
import { codeCounter, newTotpSecret, totpUri } from '../../src/security/totp.js'
import { anyText } from '../support/any-text.js'

const account = 'ada+pay@blue.example'

t.test('an authenticator shows the issuer and the account as separate names', async (t) => {
  const secret = newTotpSecret()
  const names = [
    ['pay.example', 'pay.example'],
    ['pay.example/payments', 'pay.example/payments'],
    // Authenticators split the label at the first colon, even if it is encoded.
    ['127.0.0.1:3000', '127.0.0.1-3000'],
    ['[::1]:3001', '[--1]-3001'],
    ['Ödeme & Co', 'Ödeme & Co'],
  ] as const
  for (const [issuer, shown] of names) {
    const { pathname, searchParams } = new URL(totpUri(secret, issuer, account))
    t.equal(searchParams.get('issuer'), shown)
    t.same(
      decodeURIComponent(pathname)
        .replace(/^(\/\/totp)?\//, '')
        .split(':'),
      [shown, account],
    )
  }
})

t.test('any name of an installation results in a URI with the same secret, whose codes are accepted', async () => {
  const secret = newTotpSecret()
  const name = anyText({ minLength: 1, maxLength: 64 }).filter((text) => isVisible(text) && text.trim() === text)
  fc.assert(
    fc.property(name, (issuer) => {
      const read = URI.parse(totpUri(secret, issuer, account)) as TOTP
      const code = read.generate({ timestamp: 90_000 })
      return (
        read.issuer === issuer.replaceAll(':', '-') && read.label === account && codeCounter(secret, code, 90_000) === 3
      )
    }),
  )
})
