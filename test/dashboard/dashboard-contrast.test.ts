import { readdirSync, readFileSync } from 'node:fs'
import t from 'tap'

type Colours = { readonly [token: string]: string }

/** Reads the colours of a theme. A token has one colour, or `light-dark()` of two. */
function coloursOf(theme: 'light' | 'dark'): Colours {
  const css = readFileSync('web/dashboard/src/tokens.css', 'utf8')
  const colours: Record<string, string> = {}
  for (const [, name, value] of css.matchAll(/--([a-z-]+):\s*(light-dark\([^)]*\)|#[0-9a-f]{6})/g)) {
    const [light, dark = light] = value!.match(/#[0-9a-f]{6}/g) ?? []
    colours[name!] ??= (theme === 'light' ? light : dark)!
  }
  return colours
}

/** The relative luminance of WCAG 2. */
function luminance(colour: string): number {
  const [r, g, b] = [1, 3, 5]
    .map((at) => Number.parseInt(colour.slice(at, at + 2), 16) / 255)
    .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)) as [number, number, number]
  return 0.2126 * r + 0.7152 * g + 0.0722 * b
}

function contrast(one: string, other: string): number {
  const [high, low] = [luminance(one), luminance(other)].sort((a, b) => b - a) as [number, number]
  return (high + 0.05) / (low + 0.05)
}

const text = 4.5
const graphics = 3
const surfaces = ['ground', 'paper', 'sunken', 'raised', 'hover', 'chosen']
const states = ['good', 'wait', 'person', 'second', 'bad', 'off']
const filled = ['accent-fill', 'accent-fill-hover', 'danger-fill']
const lines = ['edge', 'focus', 'chart-done', 'chart-requested-line', 'chart-before', ...states]

/** The pairs of tokens that meet on the pages, and the contrast that they need. */
const pairs: readonly (readonly [string, string, number])[] = [
  ...['ink', 'soft', 'faint', 'accent', ...states.map((state) => `${state}-ink`)].flatMap((ink) =>
    surfaces.map((surface) => [ink, surface, text] as const),
  ),
  ...states.flatMap((state) => [`${state}-ink`, 'ink', 'soft'].map((ink) => [ink, `${state}-soft`, text] as const)),
  ...['good-soft', 'off-soft'].map((surface) => ['faint', surface, text] as const),
  ...filled.map((fill) => ['on-accent', fill, text] as const),
  ['accent', 'accent-soft', text],
  ...lines.map((line) => [line, 'paper', graphics] as const),
  ...['edge', 'focus'].map((line) => [line, 'raised', graphics] as const),
  ['focus', 'ground', graphics],
]

for (const theme of ['light', 'dark'] as const) {
  t.test(`every pair of colours has enough contrast in the ${theme} theme`, async (t) => {
    const colours = coloursOf(theme)
    for (const [one, other, needed] of pairs) {
      const [first, second] = [colours[one], colours[other]]
      if (!first || !second) t.fail(`${one} or ${other} is not a colour`)
      else t.ok(contrast(first, second) >= needed, `${one} on ${other}: ${contrast(first, second).toFixed(2)}`)
    }
  })
}

t.test('only the tokens define colours', async (t) => {
  const folder = 'web/dashboard/src'
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.css') || name === 'tokens.css') continue
    t.notMatch(readFileSync(`${folder}/${name}`, 'utf8'), /#[0-9a-f]{3,8}\b|\b(rgb|hsl|oklch)a?\(/i, name)
  }
})
