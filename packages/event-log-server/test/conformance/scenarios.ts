import { readFileSync } from 'node:fs'

/** The recorded scenarios and the rules for differences. */

export const here = new URL('../../../test/conformance/', import.meta.url)

interface Difference {
  readonly reason: string
  /** Whether EventStoreDB loses data in this scenario, so that even a scenario of the first group may differ. */
  readonly isLostByEventStoreDb?: true
}

const differences = readJson('differences.json') as Readonly<Record<string, Difference>>

/** Returns the names of the scenarios in a file of recorded responses. */
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

/** Returns whether a scenario stops the server or its persistent subscriptions, so that it cannot share the server with others. */
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

/** Returns whether a scenario covers a feature that the service itself needs. Such a scenario must not differ. */
export function isFirstGroup(name: string): boolean {
  return firstGroups.includes(groupOf(name))
}

/** Returns the reason why a response may differ, or `undefined` if it must not. */
export function reasonToDiffer(name: string): string | undefined {
  const difference = differences[name]
  return difference && (difference.isLostByEventStoreDb || !isFirstGroup(name)) ? difference.reason : undefined
}

function readJson(file: string): object {
  return JSON.parse(readFileSync(new URL(file, here), 'utf8')) as object
}
