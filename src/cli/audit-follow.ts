import type { Command } from 'commander'
import type { AuditRecord } from '../audit/history/records.js'
import { addJsonOption, notify } from './command.js'
import { cell, jsonLine, localTime } from './readable.js'

export function addAuditFollowCommand(audit: Command): void {
  const command = audit
    .command('follow')
    .description('print new events as they are appended, one per line, until SIGTERM or SIGINT')
  addJsonOption(command).action(() => follow(command))
}

async function follow(command: Command): Promise<void> {
  const stopping = new AbortController()
  const stop = () => stopping.abort()
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, stop)
  // The reader has closed the pipe (`| head`).
  process.stdout.once('error', stop)
  const { openCommandStores } = await import('./cli-stores.js')
  const stores = await openCommandStores(process.env, 'must exist', (message) => notify(command, message))
  try {
    const { auditRecord } = await import('../audit/history/records.js')
    const { streamPrefixes } = await import('../domain/streams.js')
    const { json } = command.opts<{ readonly json?: true }>()
    const lineOf = json ? jsonLine : textLine
    notify(command, 'following; press Ctrl-C to stop')
    const pages = stores.eventStore.subscribeToAll({ after: 'end', streamPrefixes, signal: stopping.signal })
    for await (const { events } of pages)
      for (const recorded of events) command.configureOutput().writeOut?.(lineOf(auditRecord(recorded)))
  } finally {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.off(signal, stop)
    process.stdout.off('error', stop)
    await stores.close()
  }
}

function textLine({ recordedAt, stream, revision, type, actor, data, unreadable }: AuditRecord): string {
  const said = unreadable === undefined ? cell(data) : `unreadable: ${cell(unreadable)}`
  return `${localTime(recordedAt)}  ${cell(type)}  ${cell(`${stream}@${revision}`)}  ${cell(actor)}  ${said}\n`
}
