import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'

function pagesIn(folder: string, recursive = false): string[] {
  const names = readdirSync(folder, { recursive, encoding: 'utf8' })
  return names.filter((name) => name.endsWith('.md')).map((name) => join(folder, name))
}

const pages = [
  ...pagesIn('.'),
  ...pagesIn('docs', true),
  ...readdirSync('packages').flatMap((name) => pagesIn(`packages/${name}`)),
  ...['typescript', 'python'].flatMap((name) => pagesIn(`sdks/${name}`)),
]

/** Returns the anchors that GitHub derives from the headings. */
function anchorsOf(page: string): string[] {
  const headings = readFileSync(page, 'utf8').matchAll(/^#+ (.+)$/gm)
  return [...headings].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )
}

t.test('every file and folder named on a page exists', async (t) => {
  t.ok(pages.length > 40)
  for (const page of pages) {
    const named = readFileSync(page, 'utf8').matchAll(
      /`((?:src|packages|web|test|docs|scripts|bench|examples|sdks)\/[^`]+)`/g,
    )
    // For a pattern like `test/crash/two-nodes*.test.ts`, only the folder must exist.
    const paths = [...named].map(([, path = '']) => (/[*<]/.test(path) ? dirname(path) : path))
    // The README of a package names files relative to the package.
    for (const path of new Set(paths))
      t.ok(existsSync(path) || existsSync(join(dirname(page), path)), `${page}: ${path}`)
  }
})

t.test('every link on a page leads to an existing file and heading', async (t) => {
  for (const page of pages) {
    for (const [, link = ''] of readFileSync(page, 'utf8').matchAll(/\]\((?!https?:)([^)]+)\)/g)) {
      const [file = '', anchor] = link.split('#')
      const target = file === '' ? page : join(dirname(page), file)
      if (!existsSync(target)) t.fail(`${page}: ${link}`)
      else if (anchor) t.ok(anchorsOf(target).includes(anchor), `${page}: ${link}`)
    }
  }
})

t.test('the list of decisions contains every decision', async (t) => {
  const list = readFileSync('docs/decisions/README.md', 'utf8')
  for (const file of readdirSync('docs/decisions')) if (file !== 'README.md') t.ok(list.includes(`(${file})`), file)
})
