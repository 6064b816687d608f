import { readdirSync, readFileSync } from 'node:fs'
import { type MessageFormatElement, parse, TYPE } from '@formatjs/icu-messageformat-parser'
import t from 'tap'
import { parseSync } from 'vite'
import { eventSchemas } from '../../src/event-store/event-schemas.js'
import { refusals } from '../../src/http/refusals.js'

const folder = 'web/dashboard/texts'
const languages = ['en', 'tr'] as const
/** The areas that have texts in a language, from file names such as `callbacks.en.json`. */
function areasOf(language: string): string[] {
  return readdirSync(folder)
    .flatMap((file) => (file.endsWith(`.${language}.json`) ? (file.split('.')[0] ?? []) : []))
    .sort()
}

const areas = areasOf('en')

function textsOf(language: string, area: string): Record<string, string> {
  return JSON.parse(readFileSync(`${folder}/${area}.${language}.json`, 'utf8')) as Record<string, string>
}

/** The arguments of a message, each with how it is written: `count plural`, `name text`. */
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

const named = (message: string) => [...new Set(argumentsOf(parse(message)))].sort()

t.test('both languages have the same files and texts, with the same arguments', async (t) => {
  t.strictSame(areasOf('tr'), areas)
  for (const area of areas) {
    const [english, turkish] = languages.map((language) => textsOf(language, area)) as [
      Record<string, string>,
      Record<string, string>,
    ]
    t.strictSame(Object.keys(turkish).sort(), Object.keys(english).sort(), area)
    for (const [key, message] of Object.entries(english)) {
      t.ok(message.trim() && turkish[key]?.trim(), `${area} ${key} says something`)
      t.strictSame(named(turkish[key] ?? ''), named(message), `${area} ${key}`)
    }
  }
})

t.test('every text about a refusal is about one that there is', async (t) => {
  const names = Object.keys(textsOf('en', 'errors')).flatMap((key) => /^(?:name|title)\.(.+)$/.exec(key)?.[1] ?? [])
  t.ok(names.length > 20)
  for (const name of names) t.ok(name in refusals, name)
})

t.test('every kind of event has words, as auditors choose by them', async (t) => {
  const worded = areas.flatMap((area) =>
    Object.keys(textsOf('en', area)).flatMap((key) => /^event\.(.+)$/.exec(key)?.[1] ?? []),
  )
  t.strictSame(worded.toSorted(), Object.keys(eventSchemas).sort())
})

t.test('the arguments are found, wherever they are', async (t) => {
  t.strictSame(named('{a} {n, plural, one {# {b}} other {<x>{c}</x>}} {d, date, short}'), [
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
/** What is read to, or by, people. */
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

/** Text that an expression itself brings in; what a function makes of its arguments is the function's. */
function wordsIn(expression: unknown): string[] {
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
    // A comparison shows nothing.
    BinaryExpression: expression.operator === '+' ? ['left', 'right'] : [],
    JSXExpressionContainer: ['expression'],
    ParenthesizedExpression: ['expression'],
  }
  return (parts[type] ?? []).flatMap((part) => wordsIn(expression[part]))
}

/** Words in a component that should stand in the texts. */
function ownWords(source: string): string[] {
  const found: string[] = []
  const look = (node: Node) => {
    if (node.type === 'JSXText') found.push(String(node.value))
    if (node.type === 'JSXElement' || node.type === 'JSXFragment') {
      for (const child of node.children as readonly Node[]) {
        if (child.type === 'JSXExpressionContainer') found.push(...wordsIn(child))
      }
    }
    if (node.type === 'JSXAttribute' && shownNames.has(String((node.name as Node).name))) {
      found.push(...wordsIn(node.value))
    }
    if (node.type === 'Property' && shownNames.has(String((node.key as Node).name ?? (node.key as Node).value))) {
      found.push(...wordsIn(node.value))
    }
    for (const value of Object.values(node)) {
      for (const each of Array.isArray(value) ? value : [value]) if (isNode(each)) look(each)
    }
  }
  look(parseSync('component.tsx', source).program as unknown as Node)
  return found.filter((words) => hasLetter.test(words))
}

t.test('no component has text of its own', async (t) => {
  const source = 'web/dashboard/src'
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.tsx'))
  t.ok(files.length > 30)
  for (const file of files) t.strictSame(ownWords(readFileSync(`${source}/${file}`, 'utf8')), [], file)
})

t.test('text in a component is found, whichever way it comes in', async (t) => {
  const component = (jsx: string) => ownWords(`export const A = () => ${jsx}`)
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
