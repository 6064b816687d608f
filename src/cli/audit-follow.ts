import type { Command } from 'commander'
import type { AuditRecord } from '../audit/history/records.js'
import { takesJson, tell } from './command.js'
import { cell, jsonLine, localTime } from './readable.js'

export function addAuditFollowCommand(audit: Command): void {
  const command = audit
    .command('follow')
    .description('new events as they come, a line each, until SIGTERM or SIGINT; with --json one JSON document a line')
  takesJson(command).action(() => follow(command))
}

async function follow(command: Command): Promise<void> {
  const stopping = new AbortController()
  const stop = () => stopping.abort()
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, stop)
  // A reader that has gone (`| head`).
  process.stdout.once('error', stop)
  const { openWorkplace } = await import('./cli-stores.js')
  const workplace = await openWorkplace(process.env, 'must exist', (message) => tell(command, message))
  try {
    const { auditRecord } = await import('../audit/history/records.js')
    const { streamPrefixes } = await import('../domain/streams.js')
    const { json } = command.opts<{ readonly json?: true }>()
    const lineOf = json ? jsonLine : textLine
    tell(command, 'following; Ctrl-C ends it')
    const pages = workplace.eventStore.subscribeToAll({ after: 'end', streamPrefixes, signal: stopping.signal })
    for await (const { events } of pages)
      for (const recorded of events) command.configureOutput().writeOut?.(lineOf(auditRecord(recorded)))
  } finally {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.off(signal, stop)
    process.stdout.off('error', stop)
    await workplace.close()
  }
}

function textLine({ recordedAt, stream, revision, type, actor, data, unreadable }: AuditRecord): string {
  const said = unreadable === undefined ? cell(data) : `unreadable: ${cell(unreadable)}`
  return `${localTime(recordedAt)}  ${cell(type)}  ${cell(`${stream}@${revision}`)}  ${cell(actor)}  ${said}\n`
}
