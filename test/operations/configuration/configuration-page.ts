import { readFileSync, writeFileSync } from 'node:fs'
import { environmentSchema } from '../../../src/operations/configuration/configuration.js'

const path = 'docs/reference/configuration.md'
const variables = Object.entries(environmentSchema.properties)

export const secretVariables = variables.filter(([, schema]) => schema.secret).map(([name]) => name)

const maxLength = 116

/** Wraps Markdown without breaking code spans, and indents the lines after the first. */
function wrapped(text: string, indent = ''): string {
  const lines: string[] = []
  for (const word of text.match(/(?:`[^`]*`|\[[^\]]*\]\([^)]*\)|\S)+/g) ?? []) {
    const line = lines.at(-1)
    if (line !== undefined && line.length + 1 + word.length <= maxLength) lines[lines.length - 1] = `${line} ${word}`
    else lines.push(line === undefined ? word : `${indent}${word}`)
  }
  return lines.join('\n')
}

/** Returns the page with the list of variables and that of secrets generated from the schema. */
export function configurationPage(page: string): string {
  const items = variables.map(([name, { default: value, description }]) => {
    return wrapped(`- **\`${name}\`**${value === '' ? '' : ` (\`${value}\`)`}: ${description}.`, '  ')
  })
  const names = secretVariables.map((name) => `\`${name}\``)
  const secrets = `\`<name>_FILE\` names the file for ${names.slice(0, -1).join(', ')} and ${names.at(-1)}.`
  const between = (mark: string) => new RegExp(`(?<=<!-- ${mark} -->\n\n)[^]*?(?=\n\n<!-- end -->)`)
  return page.replace(between('variables'), items.join('\n')).replace(between('secrets'), wrapped(secrets))
}

if (process.argv[1] === import.meta.filename) writeFileSync(path, configurationPage(readFileSync(path, 'utf8')))
