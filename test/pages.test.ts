import { existsSync, readFileSync } from 'node:fs'
import t from 'tap'

for (const page of ['CONTRIBUTING.md', 'docs/architecture.md']) {
  t.test(`every path that ${page} names is there`, async (t) => {
    const named = readFileSync(page, 'utf8').matchAll(
      /`((?:src|packages|web|test|docs|scripts|bench|examples)\/[^`*<]+)`/g,
    )
    const paths = [...new Set([...named].map(([, path = '']) => path))]
    t.ok(paths.length > 10)
    for (const path of paths) t.ok(existsSync(path), path)
  })
}

t.test('the headings that links name are there', async (t) => {
  const headings = [...readFileSync('CONTRIBUTING.md', 'utf8').matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading.toLowerCase().replaceAll(' ', '-'),
  )
  const links = readFileSync('docs/architecture.md', 'utf8').matchAll(/CONTRIBUTING\.md#([^)]+)\)/g)
  for (const [, heading = ''] of links) t.ok(headings.includes(heading), heading)
})
