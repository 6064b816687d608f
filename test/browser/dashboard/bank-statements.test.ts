import { randomUUID } from 'node:crypto'
import type { BrowserContextOptions, Page } from 'playwright-core'
import t from 'tap'
import type { Role } from '../../../src/domain/user/permissions.js'
import { accountId, payeeAccount } from '../../bank/bank-world.js'
import { createBody, manualDeposits, paths, paymentMethods, post } from '../../support/merchant-requests.js'
import { launchBrowser } from '../launch-browser.js'
import { until } from '../watched-page.js'
import { faultsOf } from './axe.js'
import { type StatedEntry, statementFile } from './bank-statement-file.js'
import { context, narrow, startDashboard } from './dashboard-service.js'

const now = Date.parse('2026-03-02T09:00:00.000Z')
const march = 'from=2026-03-01&to=2026-03-31'
const otherAccountId = 'FR7630006000011234567890189'

t.setTimeout(300_000)
const browser = await launchBrowser()
if (!browser) t.plan(0, 'NOT RUN: Chromium is not installed')
else {
  t.teardown(() => browser.close())
  const configuration = { paymentMethods: [...paymentMethods, manualDeposits] }
  const euro = { code: 'EUR', decimals: 2 } as const
  const settings = { approvalAboveMinor: 5_000_00n }
  const world = await startDashboard(t, browser, settings, now, euro, { configuration })
  const { service, shop, create, listed, problems } = world
  /** Opens a page whose dialogs are shown immediately, because axe also computes the contrast of a half visible dialog. */
  const open = (role: Role, path: string, options: BrowserContextOptions = {}) =>
    world.openAs(role, path, { reducedMotion: 'reduce', ...options })
  const { bank } = service.app.services
  // The operator does not see this merchant.
  await service.merchant({ name: 'Red Shop' })
  await bank.assignAccount(otherAccountId, null, context)

  const withdrawal = (referenceId: string, amount: string, name = 'Grace Hopper') =>
    create('withdrawal', amount, { paymentMethod: 2, referenceId, accountNumber: payeeAccount, name })
  const deposit = (referenceId: string, amount: string, name = 'Ada Lovelace') =>
    create('native', amount, { paymentMethod: manualDeposits.code, referenceId, name })
  const transferOf = async (trackingId: string) => (await service.transfers.find(trackingId))!.transfer
  const idOf = (trackingId: string) => trackingId.replaceAll('-', '')
  const paid = (trackingId: string, amount: string, reference: string): StatedEntry => {
    return { amount, direction: 'DBIT', account: payeeAccount, endToEndId: idOf(trackingId), reference }
  }
  const fileOf = (name: string, content: string) => {
    return { name, mimeType: 'application/octet-stream', buffer: Buffer.from(content) }
  }
  const chooseFile = (page: Page, name: string, content: string) =>
    page.locator('input[type=file]').setInputFiles(fileOf(name, content))
  /** Imports a file as the operator. */
  const importFile = async (page: Page, name: string, content: string) => {
    await chooseFile(page, name, content)
    await page.getByRole('button', { name: /^Record/ }).click()
    await page.getByRole('heading', { name: `${name} is recorded` }).waitFor()
  }
  const focused = (page: Page) =>
    page.evaluate<string>(
      "document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent.trim()",
    )
  /** Presses Tab until the element with the name has the focus. */
  const tabTo = async (page: Page, name: string | RegExp) => {
    for (let presses = 0; presses < 60; presses++) {
      await page.keyboard.press('Tab')
      const at = await focused(page)
      if (typeof name === 'string' ? at === name : name.test(at)) return
    }
    throw new Error(`Tab does not lead to ${name}, but to ${await focused(page)}`)
  }
  const rowOf = (page: Page, words: string) => page.locator('[data-payment]').filter({ hasText: words })

  t.test('an operator records a statement of 500 entries with the keyboard only', async (t) => {
    const create500 = async (kind: 'native' | 'withdrawal', number: number) => {
      const referenceId = `${kind === 'native' ? 'ORDER' : 'PAYOUT'}-${10_000 + number}`
      const fields =
        kind === 'native'
          ? { paymentMethod: manualDeposits.code, referenceId }
          : { paymentMethod: 2, referenceId, accountNumber: payeeAccount }
      const amount = `${20 + number}.50`
      const body = createBody(kind, shop.secretKey, fields, amount)
      const created = (await post(service.app, paths[kind], body, { key: shop.webApiKey })).json<{
        trackingId?: string
        result?: { trackingId: string }
      }>()
      return { trackingId: created.trackingId ?? created.result!.trackingId, referenceId, amount }
    }
    const numbers = Array.from({ length: 220 }, (_, number) => number)
    const payouts = await Promise.all(numbers.map((number) => create500('withdrawal', number)))
    const orders = await Promise.all(numbers.map((number) => create500('native', number)))
    // Lists show events in their order.
    await deposit('AFTER-ALL-OTHERS', '1.00')
    const entries = [
      ...payouts.map(({ trackingId, amount }, n) => paid(trackingId, amount, `P${n}`)),
      ...orders.map(({ referenceId, amount }, n): StatedEntry => {
        const isWrong = n >= 200
        const text = `Payment for ${referenceId.toLowerCase()}`
        return {
          amount: isWrong ? '999.99' : amount,
          direction: 'CRDT',
          name: 'Ada Lovelace',
          text,
          reference: `O${n}`,
        }
      }),
      ...Array.from({ length: 60 }, (_, n): StatedEntry => {
        return { amount: `${n + 1}.11`, direction: 'CRDT', name: `Stranger ${n}`, text: 'hello', reference: `U${n}` }
      }),
    ]
    t.equal(entries.length, 500)
    const page = await open('operator', '/dashboard/bank-statements')
    await page.getByText('No bank statement has been imported').waitFor()
    t.strictSame(await faultsOf(page), [])
    const choosing = page.waitForEvent('filechooser')
    await tabTo(page, 'Choose a file…')
    await page.keyboard.press('Enter')
    await (await choosing).setFiles(fileOf('march.xml', statementFile(entries)))
    await page.getByRole('heading', { name: 'march.xml: nothing is recorded yet' }).waitFor()
    t.equal(await focused(page), 'march.xml: nothing is recorded yet')
    await page.getByText('420 payments are certain, 20 are uncertain, 60 are unknown').waitFor()
    t.equal(await page.locator('.BankPayments-one').count(), 50 + 20 + 50, 'each group shows 50 payments at first')
    t.strictSame(await faultsOf(page), [])
    t.equal((await transferOf(payouts[0]!.trackingId)).status, 'Pending', 'the preview records nothing')
    await tabTo(page, 'Record all, and carry out the 420 certain ones')
    await page.keyboard.press('Enter')
    // On a busy machine, the browser and the 420 payments need more than the usual minute.
    const recorded = page.getByRole('heading', { name: 'march.xml is recorded. 420 payments were carried out' })
    await recorded.waitFor({ timeout: 180_000 })
    t.match(await focused(page), /^march\.xml is recorded/)
    for (const { trackingId } of [...payouts, ...orders.slice(0, 200)])
      t.equal((await transferOf(trackingId)).status, 'Completed')
    await page.getByText('80 payments of the file are open. Decide about them below.').waitFor()
    await tabTo(page, 'Another transfer…')
    t.equal(await page.locator('[data-payment]').count(), 50)
    await page.keyboard.press('j')
    await page.keyboard.press('j')
    await page.keyboard.press('k')
    t.ok(await page.evaluate("document.activeElement.matches('[data-payment]:nth-child(2)')"))
    await tabTo(page, 'Explain…')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog', { name: 'Explain the payment' }).waitFor()
    t.strictSame(await faultsOf(page), [])
    await page.keyboard.type('Sent by mistake')
    await tabTo(page, 'Save the explanation')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.locator('[data-payment]:nth-child(2)').getByText('Sent by mistake').waitFor()
    await until(page, "document.activeElement.closest('[data-payment]:nth-child(2)') !== null")
    await page.close()
  })

  t.test('an uncertain payment shows its candidates and doubts, and is used for the chosen one', async (t) => {
    const first = await deposit('SHOES-4711', '80.00')
    await deposit('A-12', '60.00')
    const big = await withdrawal('PAYOUT-BIG', '6000.00')
    const page = await open('operator', '/dashboard/bank-statements')
    const content = statementFile([
      { amount: '85.00', direction: 'CRDT', name: 'Mary Jackson', text: 'shoes-4711', reference: 'C1' },
      { amount: '60.00', direction: 'CRDT', name: 'Dorothy Vaughan', text: 'order A-12', reference: 'C2' },
      paid(big, '6000.00', 'C3'),
      { amount: '9.90', direction: 'DBIT', text: 'Account charges', reference: 'C4' },
    ])
    await importFile(page, 'second.xml', content)
    await rowOf(page, 'Dorothy Vaughan').getByText('which is too short to be sure').waitFor()
    const needsApproval = rowOf(page, 'C3')
    await needsApproval.getByText('Another user must first approve a payment of €6,000.00').waitFor()
    t.equal(await needsApproval.getByRole('button', { name: 'Use for PAYOUT-BIG' }).count(), 0)
    const row = rowOf(page, 'Mary Jackson')
    await row.getByText('the amount is different').waitFor()
    await row.getByRole('button', { name: 'Use for SHOES-4711' }).click()
    const dialog = page.getByRole('dialog', { name: 'Use the payment for SHOES-4711?' })
    await dialog.getByText('the amount is different').waitFor()
    const confirm = dialog.getByRole('button', { name: 'Yes, use it', disabled: false })
    await confirm.waitFor()
    t.strictSame(await faultsOf(page), [])
    await confirm.click()
    await dialog.waitFor({ state: 'detached' })
    await row.getByText('Used').waitFor()
    await row.getByRole('link', { name: 'Show the transfer' }).click()
    await page.waitForURL(`**/transfers/${first}`)
    await page.getByRole('heading', { name: 'At the bank' }).waitFor()
    await page.locator('section').filter({ hasText: 'At the bank' }).getByRole('link', { name: '2 Mar 2026' }).click()
    await rowOf(page, 'Mary Jackson').getByText('Used').waitFor()
    t.equal(await page.locator('[data-payment]').count(), 1)
    t.match(await transferOf(first), { bankPayments: [{ effect: 'received', amountMinor: 85_00n }] })
    await page.close()
  })

  t.test('payments that became certain are confirmed together', async (t) => {
    const { trackingId: big } = await transferByReference('PAYOUT-BIG')
    await service.transfers.act(big, { type: 'Approve' }, { ...context, actor: 'user:grace' })
    const page = await open('operator', '/dashboard/bank-statements?show=all')
    await page.getByLabel('Select the certain one').check()
    await page.getByRole('button', { name: 'Confirm 1…' }).click()
    const dialog = page.getByRole('dialog', { name: 'Use the payment for PAYOUT-BIG?' })
    await dialog.getByRole('button', { name: 'Yes, use it', disabled: false }).click()
    await dialog.waitFor({ state: 'detached' })
    await rowOf(page, 'C3').getByText('Used').waitFor()
    t.equal((await transferOf(big)).status, 'Completed')
    await page.close()
  })

  t.test('an explained payment can be used for another transfer, which is found by its reference', async (t) => {
    const charges = await withdrawal('CHARGES-77', '9.90')
    const page = await open('operator', '/dashboard/bank-statements')
    const row = rowOf(page, 'Account charges')
    await row.getByRole('button', { name: 'Explain…' }).click()
    await page.getByLabel('What is this money?').fill('Charges of March')
    await page.getByRole('button', { name: 'Save the explanation' }).click()
    await row.getByText('Explained').waitFor()
    await page.getByText('All payments').click()
    await row.getByText('Charges of March').waitFor()
    await row.getByText('Some operator').waitFor()
    await row.getByRole('button', { name: 'Another transfer…' }).click()
    const dialog = page.getByRole('dialog', { name: 'Find the withdrawal of the payment' })
    await dialog.getByLabel('Tracking ID, reference or name').fill('CHARGES')
    await dialog.getByRole('radio').check()
    t.strictSame(await faultsOf(page), [])
    await dialog.getByRole('button', { name: 'Use for this transfer' }).click()
    await dialog.waitFor({ state: 'detached' })
    await row.getByText('Used').waitFor()
    t.equal((await transferOf(charges)).status, 'Completed')
    await page.close()
  })

  t.test('a rejection of the transfer stays in the dialog', async () => {
    await deposit('ENDED-1', '5.00')
    const { trackingId: ended } = await transferByReference('CHARGES-77')
    const page = await open('operator', '/dashboard/bank-statements')
    await importFile(
      page,
      'third.xml',
      statementFile([{ amount: '3.00', direction: 'DBIT', text: 'odd', reference: 'D1' }]),
    )
    await rowOf(page, 'D1').getByRole('button', { name: 'Another transfer…' }).click()
    await page.getByLabel('Tracking ID, reference or name').fill(ended)
    await page.getByRole('dialog').getByRole('radio').check()
    await page.getByRole('button', { name: 'Use for this transfer' }).click()
    await page.getByRole('alert').waitFor()
    await page.keyboard.press('Escape')
    await rowOf(page, 'D1').getByText('Open').waitFor()
    await page.close()
  })

  t.test('the rejection of a bank is shown on the transfer with what can be done', async (t) => {
    const trackingId = await withdrawal('PAYOUT-BAD', '40.00')
    const { messageId } = await bankFileOf(trackingId)
    const page = await open('operator', '/dashboard/bank-statements')
    const status =
      `<Document><CstmrPmtStsRpt><OrgnlGrpInfAndSts><OrgnlMsgId>${messageId}</OrgnlMsgId></OrgnlGrpInfAndSts>` +
      `<OrgnlPmtInfAndSts><TxInfAndSts><OrgnlEndToEndId>${idOf(trackingId)}</OrgnlEndToEndId><TxSts>RJCT</TxSts>` +
      '<StsRsnInf><Rsn><Cd>AC01</Cd></Rsn></StsRsnInf></TxInfAndSts></OrgnlPmtInfAndSts></CstmrPmtStsRpt></Document>'
    await chooseFile(page, 'status.xml', status)
    await page.getByRole('heading', { name: 'Rejected by the bank: 1' }).waitFor()
    await page.getByRole('button', { name: /^Record/ }).click()
    await page.getByText('Recorded on the transfer').waitFor()
    await page.getByRole('link', { name: 'PAYOUT-BAD' }).click()
    await page.getByText('The bank does not pay this withdrawal.').waitFor()
    await page.getByText('AC01, the account number is incorrect').waitFor()
    t.strictSame(await faultsOf(page), [])
    await page.close()
  })

  t.test('a file without its account is sent again with the IBAN, and a bad file leads to a new choice', async (t) => {
    const page = await open('operator', '/dashboard/bank-statements')
    await chooseFile(page, 'notes.txt', 'This is not a file of a bank.')
    await page.getByRole('alert').getByText('not a bank file that can be read').waitFor()
    await page.getByRole('button', { name: 'Close' }).click()
    t.equal(await focused(page), 'Choose a file…')
    const csv = 'Date;Amount;Currency;Name;Text\n02.03.2026;12,00;EUR;Mary Jackson;hello\n'
    await chooseFile(page, 'export.csv', csv)
    await page.getByLabel('IBAN of the account').fill(accountId)
    await page.getByRole('button', { name: 'Show its content' }).click()
    await page.getByRole('heading', { name: 'Unknown: 1' }).waitFor()
    await page.getByRole('button', { name: 'Go back' }).click()
    await page.close()
  })

  t.test('a file can be dropped anywhere on the page', async () => {
    const page = await open('operator', '/dashboard/bank-statements')
    await page.getByRole('button', { name: 'Choose a file…' }).waitFor()
    await page.evaluate(`(() => {
      const dataTransfer = new DataTransfer()
      dataTransfer.items.add(new File([${JSON.stringify(statementFile([]))}], 'dropped.xml'))
      for (const type of ['dragover', 'drop'])
        document.body.dispatchEvent(new DragEvent(type, { bubbles: true, cancelable: true, dataTransfer }))
    })()`)
    await page.getByRole('heading', { name: 'dropped.xml: nothing is recorded yet' }).waitFor()
    await page.close()
  })

  t.test('an operator can neither import nor see an account that serves other merchants', async (t) => {
    const page = await open('operator', '/dashboard/bank-statements')
    const content = statementFile([{ amount: '3.00', direction: 'DBIT' }]).replace(accountId, otherAccountId)
    await chooseFile(page, 'other.xml', content)
    await page.getByRole('alert').getByText(otherAccountId).waitFor()
    await page.goto(`${world.baseUrl}/dashboard/bank-statements?show=all&account=${otherAccountId}`)
    await page.getByRole('alert').getByText('or you do not see it').waitFor()
    const viewer = await open('viewer', '/dashboard/bank-statements')
    await viewer.locator('[data-payment]').first().waitFor()
    t.equal(await viewer.getByRole('button', { name: /Choose a file|Another transfer|Explain|Use for/ }).count(), 0)
    await page.close()
    await viewer.close()
  })

  t.test('the reconciliation shows each day, and open money leads to its payments', async (t) => {
    const page = await open('operator', `/dashboard/reconciliation?${march}`)
    const table = page.getByRole('table')
    await table.getByRole('link', { name: '2 Mar 2026' }).waitFor()
    const { body } = await (await world.as('operator')).get<{ items: Record<string, string>[] }>(`/bank/days?${march}`)
    const [day] = body.items
    t.equal(
      BigInt(day!.creditBookedMinor!),
      ['creditReceivedMinor', 'creditReturnedMinor', 'creditExplainedMinor', 'creditOpenMinor'].reduce(
        (sum, name) => sum + BigInt(day![name]!),
        0n,
      ),
    )
    const numbers = (await table.locator('tbody td').allInnerTexts()).map((text) => BigInt(text.replaceAll(/\D/g, '')))
    const names = ['filesMinor', 'debitBookedMinor', 'debitCompletedMinor', 'debitExplainedMinor', 'debitOpenMinor']
    t.strictSame(
      numbers.slice(0, 5),
      names.map((name) => BigInt(day![name]!)),
    )
    await table.locator('tbody [data-open] a').last().click()
    await page.waitForURL(/bank-statements\?account=DE89370400440532013000&from=2026-03-02&to=2026-03-02$/)
    await page.locator('[data-payment]').first().waitFor()
    await page.close()
  })

  t.test('axe finds no faults at 360 px in both languages', async (t) => {
    for (const locale of ['en-GB', 'tr-TR'])
      for (const path of [
        'bank-statements',
        'bank-statements?show=all',
        'bank-statements?show=statements',
        `reconciliation?${march}`,
      ]) {
        const page = await open('operator', `/dashboard/${path}`, { locale, viewport: narrow })
        await page.locator('[data-payment], [role=grid], .Statement').first().waitFor()
        t.strictSame(await faultsOf(page), [], `${path}, ${locale}`)
        await page.close()
      }
  })

  t.test('no page caused an error or a forbidden request', async (t) => {
    t.strictSame(
      problems.filter((problem) => !/\b4\d\d\b/.test(problem)),
      [],
    )
  })

  async function transferByReference(referenceId: string) {
    const operator = await world.as('operator')
    const { body } = await operator.get<{ items: { trackingId: string }[] }>(`/transfers?text=${referenceId}`)
    return body.items[0]!
  }

  async function bankFileOf(trackingId: string) {
    const file = await service.transfers.produceBankFile(
      { format: 'csv', trackingIds: [trackingId], timeZone: 'Europe/Berlin', underClaim: false },
      euro,
      { ...context, actor: `user:${randomUUID()}` },
    )
    if (!file.accepted) throw new Error('no bank file')
    await listed(trackingId)
    return file
  }
}
