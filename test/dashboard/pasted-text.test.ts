import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'

t.test('no input has a limit of its own, which would cut a paste before it is cleaned', async (t) => {
  const folders = ['web/dashboard/src', 'web/payment-page', 'src/http/payment-page']
  const files = folders.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
  )
  const sources = files.filter((file) => /\.tsx?$/.test(file))
  t.ok(sources.length > 150, String(sources.length))
  for (const file of sources) {
    const source = readFileSync(file, 'utf8')
    t.notMatch(source, /maxlength=/, file)
    t.notMatch(source, /<(Aria\w*|[iI]nput|[tT]ext[aA]rea)\s[^<]*maxLength/, file)
    t.notMatch(source, /type="number"/, `${file}: a browser drops a pasted number with spaces`)
  }
})
