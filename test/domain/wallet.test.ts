import fc from 'fast-check'
import t from 'tap'
import { isEasyPassword, isPassword, isPhone, normalEmail } from '../../src/domain/password-rules.js'
import {
  debitOf,
  maxBalanceMinor,
  maxTrustedDevices,
  type WalletAccountCommand,
  type WalletAccountEvent,
  walletAccountDecider,
} from '../../src/domain/wallet-account.js'
import { specification } from '../support/given-when-then.js'

const { given, fold } = specification(walletAccountDecider)
const accountNumber = 481_920_375_566
const at = '2026-03-01T10:00:00.000Z'
const data = {
  accountNumber,
  emailMac: 'mac',
  email: 'v1.e',
  phone: 'v1.p',
  passwordHash: '$argon2id$',
  sandbox: false,
  at,
}
const opened: WalletAccountEvent = { type: 'WalletAccountOpened', data }
const credited = (amountMinor: bigint, reference = 'r1'): WalletAccountEvent => ({
  type: 'WalletAccountCredited',
  data: { accountNumber, reference, amountMinor, at },
})
const payment = (amountMinor: bigint, trackingId = 't1') => ({ trackingId, amountMinor, description: 'Shop, 1', at })
const debited = (amountMinor: bigint, trackingId = 't1'): WalletAccountEvent => ({
  type: 'WalletAccountDebited',
  data: { accountNumber, ...payment(amountMinor, trackingId) },
})
const refused = (amountMinor: bigint, trackingId = 't1'): WalletAccountEvent => ({
  type: 'WalletDebitRefused',
  data: { accountNumber, ...payment(amountMinor, trackingId) },
})
const debit = (amountMinor: bigint, trackingId?: string) =>
  ({ type: 'Debit', ...payment(amountMinor, trackingId) }) as const
const credit = (amountMinor: bigint, reference = 'r1') => ({ type: 'Credit', reference, amountMinor, at }) as const

t.test('opens an account once, with its balance as a credit', async () => {
  given()
    .when({ type: 'Open', openingBalanceMinor: 0n, ...data })
    .then([opened])
  given()
    .when({ type: 'Open', openingBalanceMinor: 50_000n, ...data })
    .then([opened, credited(50_000n, 'opening balance')])
  given(opened)
    .when({ type: 'Open', openingBalanceMinor: 0n, ...data })
    .then('conflict')
  given()
    .when({ type: 'Open', openingBalanceMinor: maxBalanceMinor + 1n, ...data })
    .then('conflict')
})

t.test('rejects every command for an unopened account', async () => {
  given().when(credit(1n)).then('not-found')
  given().when(debit(1n)).then('not-found')
  given().when({ type: 'TrustDevice', device: 'd', at }).then('not-found')
})

t.test('credits a reference once, and rejects a different amount for it', async () => {
  given(opened, credited(100n)).when(credit(100n)).then([])
  given(opened, credited(100n)).when(credit(101n)).then('conflict')
  given(opened, credited(100n))
    .when(credit(100n, 'r2'))
    .then([credited(100n, 'r2')])
  given(opened, credited(maxBalanceMinor)).when(credit(1n, 'r2')).then('conflict')
})

t.test('a credit and a debit with the same key are separate', async () => {
  given(opened, credited(100n, 'x'))
    .when(debit(60n, 'x'))
    .then([debited(60n, 'x')])
  given(opened, credited(100n), debited(60n, 'x'))
    .when(credit(60n, 'x'))
    .then([credited(60n, 'x')])
})

t.test('debits at most the balance', async () => {
  given(opened, credited(100n))
    .when(debit(100n))
    .then([debited(100n)])
  given(opened, credited(100n))
    .when(debit(101n))
    .then([refused(101n)])
})

t.test('debits a trackingId once, regardless of the amount of a repeat and of the balance', async () => {
  given(opened, credited(100n), debited(100n)).when(debit(100n)).then([])
  given(opened, credited(100n), debited(60n)).when(debit(70n)).then([])
  given(opened, credited(100n), debited(60n), debited(40n, 't2')).when(debit(60n)).then([])
})

t.test('records a refusal once, and debits once the balance suffices', async (t) => {
  given(opened, refused(100n)).when(debit(100n)).then([])
  given(opened, refused(100n), credited(99n)).when(debit(100n)).then([])
  given(opened, refused(100n), credited(100n))
    .when(debit(100n))
    .then([debited(100n)])
  const account = fold([opened, refused(100n), credited(100n), debited(100n)])
  if (account.accountNumber === null) throw new Error('the account is not opened')
  t.equal(debitOf(account, 't1')?.kind, 'debit')
  t.equal(debitOf(account, 'r1'), undefined)
})

t.test('trusts a device once, and removes the oldest of too many devices', async (t) => {
  const trusted = (device: string): WalletAccountEvent => ({
    type: 'WalletDeviceTrusted',
    data: { accountNumber, device, at },
  })
  given(opened)
    .when({ type: 'TrustDevice', device: 'd', at })
    .then([trusted('d')])
  given(opened, trusted('d'), trusted('e')).when({ type: 'TrustDevice', device: 'd', at }).then([])
  const many = Array.from({ length: maxTrustedDevices + 1 }, (_, index) => trusted(`d${index}`))
  const account = fold([opened, ...many])
  if (account.accountNumber === null) throw new Error('the account is not opened')
  t.equal(account.trustedDevices.length, maxTrustedDevices)
  t.notOk(account.trustedDevices.includes('d0'))
  t.ok(account.trustedDevices.includes(`d${maxTrustedDevices}`))
})

t.test(
  'after any history, the balance equals credits less debits and is not negative, and no trackingId is debited twice',
  async () => {
    const name = fc.constantFrom('a', 'b', 'c', 'd')
    const amount = fc.bigInt(1n, 50n)
    const command: fc.Arbitrary<WalletAccountCommand> = fc.oneof(
      fc.tuple(amount, name).map(([amountMinor, reference]) => credit(amountMinor, reference)),
      fc.tuple(amount, name).map(([amountMinor, trackingId]) => debit(amountMinor, trackingId)),
    )
    fc.assert(
      fc.property(fc.array(command, { maxLength: 40 }), (commands) => {
        const history: WalletAccountEvent[] = [opened]
        for (const command of commands) {
          const decision = walletAccountDecider.decide(command, fold(history))
          if (decision.accepted) history.push(...decision.events)
          const account = fold(history)
          if (account.accountNumber === null) throw new Error('the account is not opened')
          let balance = 0n
          const debits: string[] = []
          for (const event of history) {
            if (event.type === 'WalletAccountCredited') balance += event.data.amountMinor
            if (event.type !== 'WalletAccountDebited') continue
            balance -= event.data.amountMinor
            debits.push(event.data.trackingId)
          }
          if (account.balanceMinor !== balance || balance < 0n) throw new Error('the balance is wrong')
          if (new Set(debits).size !== debits.length) throw new Error('a trackingId was debited twice')
          // A repeat of the command must change nothing.
          const again = walletAccountDecider.decide(command, account)
          if (decision.accepted && !(again.accepted && again.events.length === 0))
            throw new Error('a repeat changed the account')
        }
      }),
    )
  },
)

t.test('folds thousands of movements in linear time', async (t) => {
  const many = Array.from({ length: 20_000 }, (_, index) => [
    credited(1n, `r${index}`),
    debited(1n, `t${index}`),
  ]).flat()
  let state = walletAccountDecider.initialState
  for (const event of [opened, ...many]) state = walletAccountDecider.evolve(state, event)
  if (state.accountNumber === null) throw new Error('the account is not opened')
  t.equal(debitOf(state, 't0')?.amountMinor, 1n)
})

t.test('normalizes emails, and rejects other texts', async (t) => {
  t.equal(normalEmail('  Ada.Lovelace+x@Example.COM '), 'ada.lovelace+x@example.com')
  const wrong = [
    '',
    'ada',
    'ada@',
    '@example.com',
    'a b@example.com',
    'ada@example',
    'a@b@example.com',
    'a@ex\nample.com',
  ]
  const headers = [
    'ada@example.com\r\nBcc: eve@example.com',
    'Ada <ada@example.com>',
    'a,b@example.com',
    `${'a'.repeat(65)}@x.de`,
  ]
  for (const text of [...wrong, ...headers]) t.equal(normalEmail(text), undefined, JSON.stringify(text))
})

t.test('only passwords that are guessed first are too easy', async (t) => {
  const easy =
    '000000 999999 123456 234567 654321 987654 890123 321098 121212 909090 123123 550550 112233 159753 147258'
  for (const digits of easy.split(' ')) t.ok(isEasyPassword(digits), digits)
  for (const digits of '481516 734219 100000 123457 112234 135791 246813 000001 580263'.split(' ')) {
    t.notOk(isEasyPassword(digits), digits)
  }
  let count = 0
  for (let n = 0; n < 1_000_000; n++) if (isEasyPassword(String(n).padStart(6, '0'))) count++
  t.ok(count > 1_000 && count < 1_200, `${count} of a million are rejected`)
})

t.test('accepts passwords of six ASCII digits and phone numbers in E.164', async (t) => {
  t.ok(isPassword('000000'))
  for (const text of ['12345', '1234567', '12345a', ' 123456', '١٢٣٤٥٦', '123456\n']) t.notOk(isPassword(text), text)
  t.ok(isPhone('+905551234567'))
  for (const text of ['905551234567', '+0555123456', '+123456', '+1234567890123456', '+90 555', '+9055512\n'])
    t.notOk(isPhone(text), text)
})
