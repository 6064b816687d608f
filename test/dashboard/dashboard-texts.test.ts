import { readdirSync, readFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { type MessageFormatElement, parse, TYPE } from '@formatjs/icu-messageformat-parser'
import { IntlMessageFormat } from 'intl-messageformat'
import t from 'tap'
import { parseSync } from 'vite'
import { changeTexts } from '../../src/domain/refusal-texts.js'
import { ruleTexts } from '../../src/domain/rule-texts.js'
import { eventSchemas } from '../../src/event-store/event-codec.js'
import { commonRefusals } from '../../src/http/refusals.js'
import { pageModule } from './page-module.js'

const folder = 'web/dashboard/texts'
const pages = 'web/dashboard/src'
const languages = ['en', 'tr'] as const
/** The areas that have texts in a language, from file names such as `callbacks.en.json`. */
function areasOf(language: string): string[] {
  return readdirSync(folder)
    .flatMap((file) => (file.endsWith(`.${language}.json`) ? (file.split('.')[0] ?? []) : []))
    .sort()
}

const areas = areasOf('en')

const { englishTexts } = await pageModule<{ readonly englishTexts: Record<string, Record<string, string>> }>(
  '../rule-texts.ts',
)

function textsIn(file: string): Record<string, string> {
  return JSON.parse(readFileSync(`${folder}/${file}.json`, 'utf8')) as Record<string, string>
}

/** Returns the texts of an area as the build puts them into the pages. */
function textsOf(language: string, area: string): Record<string, string> {
  const texts = textsIn(`${area}.${language}`)
  return language === 'en' ? { ...englishTexts[area], ...texts } : texts
}

/** Returns the arguments of a message with their types, such as `count plural` and `name text`. */
function argumentsOf(elements: readonly MessageFormatElement[]): string[] {
  return elements.flatMap((element): string[] => {
    switch (element.type) {
      case TYPE.argument:
        return [`${element.value} text`]
      case TYPE.number:
      case TYPE.date:
      case TYPE.time:
        return [`${element.value} ${TYPE[element.type]}`]
      case TYPE.plural:
      case TYPE.select: {
        const branches = Object.values(element.options).flatMap(({ value }) => argumentsOf(value))
        return [`${element.value} ${TYPE[element.type]}`, ...branches]
      }
      case TYPE.tag:
        return [`<${element.value}>`, ...argumentsOf(element.children)]
      default:
        return []
    }
  })
}

type Packing = typeof import('../../web/dashboard/src/app/packed-texts.js')

t.test('every text is the same after packing, with every number', async (t) => {
  const { pack, unpack } = await pageModule<Packing>('app/packed-texts.ts')
  const values = (of: readonly string[], n: number) =>
    Object.fromEntries(of.map((each) => each.split(' ')).map(([name, type]) => [name!, type === 'text' ? `<${n}>` : n]))
  for (const language of languages)
    for (const area of areas)
      for (const [key, message] of Object.entries(textsOf(language, area))) {
        const elements = parse(message)
        const packed = JSON.parse(JSON.stringify(elements.map(pack))) as ReturnType<Packing['pack']>[]
        for (const n of [0, 1, 2, 5_000]) {
          const given = values(argumentsOf(elements), n)
          const texts = [elements, packed.map(unpack)].map((each) =>
            new IntlMessageFormat(each, language).format(given),
          )
          if (texts[0] !== texts[1]) t.equal(texts[1], texts[0], `${language} ${area}.${key}`)
        }
      }
})

const argumentNames = (message: string) => [...new Set(argumentsOf(parse(message)))].sort()

t.test('both languages have the same files, keys and arguments', async (t) => {
  t.strictSame(areasOf('tr'), areas)
  for (const area of areas) {
    const [english, turkish] = languages.map((language) => textsOf(language, area)) as [
      Record<string, string>,
      Record<string, string>,
    ]
    t.strictSame(Object.keys(turkish).sort(), Object.keys(english).sort(), area)
    const entries = Object.entries(english)
    const empty = entries.filter(([key, message]) => !message.trim() || !turkish[key]?.trim())
    t.strictSame(empty, [], `no text of ${area} is empty`)
    const different = entries.filter(
      ([key, message]) => !isDeepStrictEqual(argumentNames(turkish[key] ?? ''), argumentNames(message)),
    )
    t.strictSame(different, [], `the texts of ${area} have the same arguments`)
  }
})

/** The names of the values of every rule that the dashboard's API can return. */
const valuesOf: { readonly [rule: string]: readonly string[] } = {
  ...Object.fromEntries(Object.keys(commonRefusals).map((name) => [name, []])),
  ...Object.fromEntries(Object.entries(ruleTexts).map(([rule, text]) => [rule, valueNames(text)])),
}

function valueNames(text: string): readonly string[] {
  return text.match(/(?<=\{)\w+(?=\})/g)?.filter((name) => name !== 'field') ?? []
}

t.test('has a text for every rule, with exactly the values of the rule', async (t) => {
  const texts = Object.entries(textsOf('en', 'errors')).flatMap(([key, text]) =>
    key.startsWith('rule.') ? [[key.slice('rule.'.length), text] as const] : [],
  )
  t.strictSame(texts.map(([rule]) => rule).sort(), Object.keys(valuesOf).sort())
  for (const [rule, text] of texts) {
    const expected = (valuesOf[rule] ?? []).map((name) => `${name} text`)
    t.strictSame(argumentNames(text), expected.sort(), rule)
  }
})

t.test('only texts that name a header or an option of the command line differ from those of the server', async (t) => {
  const own = Object.keys(textsIn('errors.en')).filter((key) => key in englishTexts.errors!)
  const names = ['invalid-request', 'csrf', 'cross-site', 'unsupported-media-type', 'in-bank-file', 'cursor-invalid']
  t.strictSame(own.sort(), names.map((name) => `rule.${name}`).sort())
})

t.test('has a text for every change of a transfer, and no title for an unknown rule', async (t) => {
  const keys = Object.keys(textsOf('en', 'errors'))
  const namesIn = (area: string) => keys.flatMap((key) => (key.startsWith(area) ? key.slice(area.length) : []))
  t.strictSame(namesIn('change.').sort(), Object.keys(changeTexts).sort())
  for (const rule of namesIn('title.')) t.ok(rule in valuesOf, rule)
})

t.test('every event type has a display name, because auditors filter by it', async (t) => {
  const message = 'web/dashboard/texts/events.en.json has the name of each event type, and of no other'
  t.strictSame(Object.keys(textsOf('en', 'events')).sort(), Object.keys(eventSchemas).sort(), message)
})

t.test('no text has a word of the log or the API that its readers do not know', async (t) => {
  const unknown =
    /(?<!\{)\b(?:[Pp]arked|[Tt]ells of|an event a line|go on where|Pay and complete|must NOT)\b|\b(?:user|system|cli):\w|≠/
  for (const area of areas) {
    const found = Object.entries(textsOf('en', area)).filter(([, words]) => unknown.test(words))
    t.strictSame(found, [], area)
  }
})

t.test('finds arguments at every depth', async (t) => {
  t.strictSame(argumentNames('{a} {n, plural, one {# {b}} other {<x>{c}</x>}} {d, date, short}'), [
    '<x>',
    'a text',
    'b text',
    'c text',
    'd date',
    'n plural',
  ])
})

type Node = { readonly type: string; readonly [field: string]: unknown }

const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null && 'type' in value
const hasLetter = /\p{L}/u
/** The names of attributes and properties whose text users see or hear. */
const shownNames = new Set(
  ['aria-label', 'aria-description', 'aria-roledescription', 'aria-valuetext', 'alt', 'caption', 'confirm'].concat([
    'description',
    'header',
    'help',
    'label',
    'placeholder',
    'submit',
    'subtitle',
    'title',
  ]),
)

/** Returns the text that an expression itself contains. Arguments of a function call are ignored. */
function hardCodedTextsIn(expression: unknown): string[] {
  if (!isNode(expression)) return []
  const { type } = expression
  if (type === 'Literal') return typeof expression.value === 'string' ? [expression.value] : []
  if (type === 'TemplateLiteral') {
    const quasis = expression.quasis as readonly { readonly value: { readonly cooked: string } }[]
    return quasis.map(({ value }) => value.cooked)
  }
  const parts: Record<string, readonly string[]> = {
    ConditionalExpression: ['consequent', 'alternate'],
    LogicalExpression: ['left', 'right'],
    // The operands of a comparison are not shown.
    BinaryExpression: expression.operator === '+' ? ['left', 'right'] : [],
    JSXExpressionContainer: ['expression'],
    ParenthesizedExpression: ['expression'],
  }
  return (parts[type] ?? []).flatMap((part) => hardCodedTextsIn(expression[part]))
}

/** Returns the text in a component that belongs in the text files. */
function hardCodedTexts(source: string): string[] {
  const found: string[] = []
  const visit = (node: Node) => {
    if (node.type === 'JSXText') found.push(String(node.value))
    if (node.type === 'JSXElement' || node.type === 'JSXFragment') {
      for (const child of node.children as readonly Node[]) {
        if (child.type === 'JSXExpressionContainer') found.push(...hardCodedTextsIn(child))
      }
    }
    if (node.type === 'JSXAttribute' && shownNames.has(String((node.name as Node).name))) {
      found.push(...hardCodedTextsIn(node.value))
    }
    if (node.type === 'Property' && shownNames.has(String((node.key as Node).name ?? (node.key as Node).value))) {
      found.push(...hardCodedTextsIn(node.value))
    }
    for (const value of Object.values(node)) {
      for (const each of Array.isArray(value) ? value : [value]) if (isNode(each)) visit(each)
    }
  }
  const { program }: { readonly program: unknown } = parseSync('component.tsx', source)
  if (isNode(program)) visit(program)
  return found.filter((words) => hasLetter.test(words))
}

t.test('every text is used', async (t) => {
  const folders = readdirSync(pages, { recursive: true, encoding: 'utf8' })
  const source = folders
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => readFileSync(`${pages}/${name}`, 'utf8'))
    .join('\n')
  // Ids that are completed at run time, such as `common.status.${status}`.
  const prefixes = [...source.matchAll(/`([a-z]+\.[\w.-]*)\$\{/g)].map(([, prefix]) => prefix!)
  const unused = areas.flatMap((area) =>
    Object.keys(textsOf('en', area))
      .map((key) => `${area}.${key}`)
      .filter((id) => !source.includes(`'${id}'`) && !prefixes.some((prefix) => id.startsWith(prefix))),
  )
  t.strictSame(unused, [])
})

t.test('no component has hard-coded text', async (t) => {
  const files = readdirSync(pages, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.tsx'))
  t.ok(files.length > 30)
  for (const file of files) t.strictSame(hardCodedTexts(readFileSync(`${pages}/${file}`, 'utf8')), [], file)
})

t.test('finds hard-coded text in every form', async (t) => {
  const component = (jsx: string) => hardCodedTexts(`export const A = () => ${jsx}`)
  for (const jsx of [
    '<p>Hello</p>',
    "<p>{'Hello'}</p>",
    "<p>{isOn ? 'Hello' : other}</p>",
    '<p>{isOn && `Hello`}</p>',
    '<>{count + " Hello"}</>',
    '<B aria-label="Hello" />',
    "<B title={isOn ? 'Hello' : text('shell.off')} />",
    "<Facts items={[{ label: 'Hello', value }]} />",
  ]) {
    t.strictSame(
      component(jsx).map((words) => words.trim()),
      ['Hello'],
      jsx,
    )
  }
  for (const jsx of [
    "<p className={isOn ? 'on' : 'off'}>{text('shell.on')} · ✓ {a + ' – ' + b}{kind === 'x' && y}</p>",
    '<p>{f("x")}</p>',
  ]) {
    t.strictSame(component(jsx), [], jsx)
  }
})
