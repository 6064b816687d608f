import { readFileSync } from 'node:fs'
import fastify, { type FastifyError } from 'fastify'
import t from 'tap'
import { givenSettingsProblem } from '../../src/domain/merchant/settings.js'
import { hiddenCharacters } from '../../src/domain/text.js'
import { passwordProblem } from '../../src/domain/user/password.js'
import { validationErrorsOf } from '../../src/http/plugins/validation-errors.js'
import { invalid, type RequestError } from '../../src/http/refusals.js'
import { checkWords } from '../../src/http/settling-words.js'
import { pageModule } from './page-module.js'

interface Words {
  readonly id: string
  readonly values: Readonly<Record<string, string>>
}
const { fieldWords, detailWords } = await pageModule<{
  fieldWords(sentence: string): Words | undefined
  detailWords(sentence: string): Words | undefined
}>('api/server-words.ts')

const texts = JSON.parse(readFileSync('web/dashboard/texts/en/errors.json', 'utf8')) as Record<string, string>

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
    [`The password ${passwordProblem('short', email)}.`, 'At least 12 characters.'],
    [`The password ${passwordProblem('a'.repeat(20), email)}.`, 'This must not be one character again and again.'],
    [`The password ${passwordProblem(email, email)}.`, 'This must not be the e-mail address.'],
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

t.test('who has claimed it is told in words of the page', async (t) => {
  const words = detailWords('Grace claimed it until Monday claimed it until 2026-11-21T14:05:00.000Z.')
  t.equal(
    inWords(words),
    'Grace claimed it until Monday has claimed it until 2026-11-21T14:05:00.000Z.',
    'whatever they are called',
  )
  t.equal(detailWords('Somebody did something else.'), undefined)
})

function messageOf({ particulars }: RequestError): string | undefined {
  return particulars.validationErrors?.[0]?.message
}
