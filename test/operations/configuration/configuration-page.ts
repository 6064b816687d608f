import { readFileSync, writeFileSync } from 'node:fs'
import { environmentSchema } from '../../../src/operations/configuration/configuration.js'

const path = 'docs/reference/configuration.md'
const variables = Object.entries(environmentSchema.properties)

export const secretVariables = variables.filter(([, schema]) => schema.secret).map(([name]) => name)

/** Returns the page with the table and the list of secrets generated from the schema. */
export function configurationPage(page: string): string {
  const rows = variables.map(([name, { default: value, description }]) => {
    return `| \`${name}\` | ${value === '' ? '' : `\`${value}\` `}| ${description} |`
  })
  const names = secretVariables.map((name) => `\`${name}\``)
  return page
    .replace(/(?<=^\| Variable .*\n\|---.*\n)(\|.*\n)+/m, `${rows.join('\n')}\n`)
    .replace(/(?<=^for ).*(?=\. One newline)/m, `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`)
}

if (process.argv[1] === import.meta.filename) writeFileSync(path, configurationPage(readFileSync(path, 'utf8')))
