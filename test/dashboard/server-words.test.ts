import { readdirSync, readFileSync } from 'node:fs'
import fastify, { type FastifyError } from 'fastify'
import t from 'tap'
import { refusalText } from '../../src/commands/refusal-texts.js'
import { givenSettingsProblem } from '../../src/domain/merchant/merchant-settings.js'
import { passwordProblem } from '../../src/domain/user/password.js'
import type { Viewer } from '../../src/http/dashboard/session-guard.js'
import { nameFor } from '../../src/http/dashboard/transfers/transfer-row.js'
import { invalid, type RequestError } from '../../src/http/refusals.js'
import { validationErrorsOf } from '../../src/http/server/validation-errors.js'
import { checkWords } from '../../src/http/settling-texts.js'
import { hiddenCharacters } from '../../src/kernel/text.js'
import { pageModule } from './page-module.js'

interface Words {
  readonly id: string
  readonly values: Readonly<Record<string, string>>
}
const { fieldWords, detailWords, nameWords } = await pageModule<{
  fieldWords(sentence: string): Words | undefined
  nameWords(name: string): Words | undefined
  detailWords(sentence: string): readonly Words[] | undefined
}>('api/server-words.ts')

const texts = JSON.parse(readFileSync('web/dashboard/texts/errors.en.json', 'utf8')) as Record<string, string>

function inWords(words: Words | undefined): string | undefined {
  const key = words?.id.replace(/^errors\./, '')
  return key && texts[key]?.replaceAll(/\{(\w+)\}/g, (_, name: string) => words?.values[name] ?? `no ${name}`)
}

const said = (sentence: string | undefined) => inWords(fieldWords(sentence ?? 'the server said nothing'))

t.test('what a schema refuses has words', async (t) => {
  const app = fastify()
  t.teardown(() => app.close())
  const properties = {
    name: { type: 'string', minLength: 2, maxLength: 5 },
    count: { type: 'integer', minimum: 1, maximum: 9 },
  }
  app.post('/', { schema: { body: { type: 'object', required: ['name'], properties } } }, () => 'taken')
  app.setErrorHandler((error: FastifyError) => validationErrorsOf(error.validation ?? [])[0]?.message)
  const refused = async (payload: object) => (await app.inject({ method: 'POST', url: '/', payload })).body
  t.equal(said(await refused({})), 'This is needed.')
  t.equal(said(await refused({ name: 'a' })), 'At least 2 characters.')
  t.equal(said(await refused({ name: 'abcdef' })), 'At most 5 characters.')
  t.equal(said(await refused({ name: 'abc', count: 0 })), 'At least 1.')
  t.equal(said(await refused({ name: 'abc', count: 10 })), 'At most 9.')
})

t.test('what the rules of passwords, settings and payments refuse has words', async (t) => {
  const refusedWords = (words: Parameters<typeof checkWords>[0]) => {
    try {
      checkWords(words)
    } catch (error) {
      return (error as RequestError).particulars.validationErrors?.[0]?.message
    }
    return undefined
  }
  const email = 'ada@shop.example'
  for (const [sentence, words] of [
    [refusalText(passwordProblem('short', email)!), 'At least 12 characters.'],
    [refusalText(passwordProblem('a'.repeat(20), email)!), 'This must not be one character again and again.'],
    [refusalText(passwordProblem(email, email)!), 'This must not be the e-mail address.'],
    [givenSettingsProblem({ name: '' })?.message, '1 to 128 characters.'],
    [givenSettingsProblem({ rateLimitPerSecond: 0 })?.message, /^A whole number from 1 to \d+\.$/],
    [givenSettingsProblem({ minAmountMinor: 0n })?.message, 'This must be above 0.'],
    [givenSettingsProblem({ mismatchToleranceMinor: -1n })?.message, 'This must not be below 0.'],
    [refusedWords({ message: '  ' }), 'This must not be blank.'],
    [refusedWords({ message: 'a\u202eb' }), texts['field.hidden']!],
    [`It ${hiddenCharacters}.`, texts['field.hidden']!],
    [refusedWords({ receiptUrl: 'ftp://x' }), 'This must be a web address that begins with https://.'],
    [messageOf(invalid('amountMinor', 'must be whole: JPY has no decimals')), 'Without decimals: JPY has none.'],
  ] as const) {
    t.match(said(sentence) ?? 'no words', words, sentence ?? 'nothing refused')
  }
  t.equal(fieldWords('amount must be something that nobody has words for'), undefined)
})

t.test('whoever acts and is no person is told in words of the page', (t) => {
  const directories = { userDirectory: { byId: () => undefined }, directory: { byId: () => undefined } }
  const nameOf = nameFor({ merchantIds: ['m'] } as unknown as Viewer, directories)
  for (const actor of ['user:1', 'merchant:1', 'cli:root']) t.equal(inWords(nameWords(nameOf(actor))), nameOf(actor))
  t.equal(nameWords('Ada'), undefined)
  t.end()
})

const toldDetail = (sentence: string) => detailWords(sentence)?.map(inWords).join(' ')

t.test('who has claimed it, and who did what, is told in words of the page', async (t) => {
  t.equal(
    toldDetail('Grace claimed it until Monday claimed it until 2026-11-21T14:05:00.000Z.'),
    'Grace claimed it until Monday has claimed it until 2026-11-21T14:05:00.000Z.',
    'whatever they are called',
  )
  const done = 'Ada J. claimed it at 2026-11-21T14:05:00.000Z. Bob completed it at 2026-11-21T14:06:00.000Z.'
  t.equal(toldDetail(done), done)
  t.equal(detailWords(done)?.length, 2)
  t.equal(detailWords(`${done} And more.`), undefined)
  t.equal(detailWords('Somebody did something else.'), undefined)
})

/** Where people are refused something on a page. */
const refusing = [
  ...['domain/bank-file', 'domain/merchant', 'domain/transfer', 'domain/user', 'http/dashboard'].flatMap((folder) =>
    readdirSync(`src/${folder}`, { withFileTypes: true }).flatMap((file) =>
      file.isFile() ? [`src/${folder}/${file.name}`] : [],
    ),
  ),
  ...['callback-url', 'settings-changes'].map((name) => `src/commands/merchant/${name}.ts`),
  'src/commands/refusal-texts.ts',
]
const values: { readonly [expression: string]: string } = {
  hiddenCharacters,
  amounts: '1.00, which is final; 2.00',
  wanted: '1.00 to this account',
  problem: 'must be another one',
  'currency.code': 'JPY',
  'JSON.stringify(wrong.slice(0, 64))': '"1.2.3"',
}
/** Those that no page shows: of creates, of what only a race finds, and of what is not there, which is refused by name. */
const unseen = [
  /^\{changes\}/,
  /^(This|The) (user|merchant) (exists|is (registered|disabled)|has)/,
  /^Only a deposit takes money/,
  /^Something else has happened/,
  /^The second factor has changed|^The code was used before/,
  /^There is no such (user|transfer|event|callback|wallet account)\.$/,
  /^(There is a wallet account|The balance would|Another amount was credited|This hashCode|This callback was sent)/,
  /^This referenceId was used before/,
]

t.test('every sentence that refuses something on a page has words', async (t) => {
  let found = 0
  for (const path of refusing) {
    const source = readFileSync(path, 'utf8').replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '')
    for (const [, , sentence = ''] of source.matchAll(/(['`])((?:[A-Z]|\$\{)[^'`\n]* [^'`\n]*\.)\1/g)) {
      const example = sentence.replaceAll(/\$?\{([^}]*)\}/g, (_, value: string) => values[value] ?? '1')
      found++
      if (unseen.some((form) => form.test(sentence))) continue
      t.ok(said(example) ?? toldDetail(example), `${path}: ${sentence}`)
    }
  }
  t.ok(found > 50)
})

function messageOf({ particulars }: RequestError): string | undefined {
  return particulars.validationErrors?.[0]?.message
}
