import t from 'tap'
import { temporaryDirectory } from '../support/processes.js'
import { runCli } from './in-process.js'

const directory = temporaryDirectory(t)
const yen = { CURRENCY: 'JPY' }

t.test('amounts in a currency without decimals must be whole', async (t) => {
  const callback = ['--callback-url', 'https://merchant.example/callbacks']
  const create = ['merchants', 'create', '--name', '花屋', ...callback, '--max-amount']
  const back = ['--receipt-url', 'https://bank.example/back/1']
  const refused: string[][] = [
    [...create, '5000.5'],
    ['merchants', 'set', 'any', '--mismatch-tolerance', '0.01'],
    ['transfers', 'complete', 'any', '--amount', '99.50'],
    ['transfers', 'complete', 'any', '--confirm-amount', '99.50'],
    ['transfers', 'return', 'any', ...back, '--amount', '99.50'],
  ]
  t.match(await runCli(directory, [...create, '5000.00'], yen), { status: 0 }, 'a whole amount is valid')
  for (const args of refused) {
    const { status, stderr } = await runCli(directory, args, yen)
    t.equal(status, 2, args.join(' '))
    t.equal(stderr, `transferd: ${args.at(-2)} must be a whole amount because JPY has no decimals.\n`)
  }
  const [complete] = refused.slice(2)
  const other = temporaryDirectory(t)
  await runCli(other, [...create, '5000.5'])
  t.match(
    await runCli(other, complete!),
    { status: 1, stderr: /not found|no such transfer/i },
    'a fraction is valid in a currency with decimals',
  )
})
