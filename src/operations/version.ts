import { readFileSync } from 'node:fs'

/** The version of transferd. */
export const { version } = JSON.parse(readFileSync(new URL(import.meta.resolve('#package.json')), 'utf8')) as {
  readonly version: string
}
