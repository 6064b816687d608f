import { readFileSync } from 'node:fs'

/** What was recorded, and by which rules answers are judged. */

export const here = new URL('../../../test/conformance/', import.meta.url)

interface Difference {
  readonly reason: string
  /** The real server loses something: no answer of the first group need be equal there either. */
  readonly losesThere?: true
}

export const differences = readJson('differences.json') as Readonly<Record<string, Difference>>

/** Names of the scenarios a file of answers has. */
export function recorded(answers: string): string[] {
  return Object.keys(readJson(`answers/${answers}`))
}

export function groupOf(name: string): string {
  const parts = name.split('/')
  return parts.slice(0, name.startsWith('persistent') ? 2 : 1).join('/')
}

export function isRestart(name: string): boolean {
  return /(^|\/)restart\//.test(name) || name === 'persistent/quirk/parked-count-lost-without-checkpoint'
}

/** What stops the server, or its persistent subscriptions, cannot share it with others. */
export function runsAlone(name: string): boolean {
  return isRestart(name) || name.startsWith('persistent/subsystem/')
}

const firstGroups = [
  'append',
  'read',
  'all',
  'subscribe',
  'restart',
  ...['ack', 'checkpoint', 'delivery', 'nack', 'timeout', 'replay', 'compete', 'all', 'restart'].map(
    (area) => `persistent/${area}`,
  ),
]

/** What the service itself stands on: it must be equal, whatever is written about it. */
export function isFirstGroup(name: string): boolean {
  return firstGroups.includes(groupOf(name))
}

/** Why an answer may differ; undefined where it may not. */
export function reasonToDiffer(name: string): string | undefined {
  const difference = differences[name]
  return difference && (difference.losesThere || !isFirstGroup(name)) ? difference.reason : undefined
}

function readJson(file: string): object {
  return JSON.parse(readFileSync(new URL(file, here), 'utf8')) as object
}
