import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import type { Command } from 'commander'
import type { EvidenceOutcome } from '../audit/evidence/evidence-packages.js'
import { violate } from '../domain/decider.js'
import { disclosables } from '../domain/disclosable.js'
import { counted } from '../kernel/text.js'
import { storedUuidPrefix } from '../kernel/uuid.js'
import { checkpointIn, escapedLines, unsealedNotice, writeNew } from './audit-proofs.js'
import type { CommandStores } from './cli-stores.js'
import { accepted, defineCommand } from './command.js'
import { Refused, refusedBy, UsageError } from './failures.js'
import { fieldTable } from './field-table.js'
import { namesOf } from './names.js'
import { choices, option, path, reason, required } from './options.js'
import { shortIdLength } from './readable.js'

const words = (description: string) => choices('<fields,...>', description, disclosables)

/** Adds the commands that create evidence packages and decide about their personal data. */
export function addEvidenceCommands(audit: Command): void {
  const making = 'write one file that proves what decided a transfer, with a report and programs that check it'
  defineCommand(audit, 'evidence <trackingId>', making, {
    examples: ['7b0f2c1e --out evidence.zip', '7b0f2c1e --out evidence.zip --from earlier.zip --disclose name,account'],
    options: {
      out: required(option('<file>', 'a new file', path)),
      from: option('<file>', 'an earlier package or checkpoint, to prove that the log has only grown since'),
      disclose: words('personal data to disclose, as approved (audit disclosure)'),
    },
    async run(stores, { out, from, disclose = [] }, trackingId: string) {
      const older = from === undefined ? undefined : await checkpointOf(from)
      const packages = await packagesOf(stores)
      // A package is recorded before it is written, so a file that cannot be written is found before.
      writeNew(out, '')
      try {
        const made = madeOf(await packages.create({ trackingId, disclose, older }, stores.context))
        writeFileSync(out, made.bytes)
        if (made.notSealed > 0) stores.notify(unsealedNotice(made.notSealed))
        const { sha256, events, treeSize, notSealed, disclosed } = made
        return { file: out, trackingId, sha256, events, treeSize, notSealed, disclosed }
      } catch (error) {
        rmSync(out, { force: true })
        throw error
      }
    },
    text: ({ file, trackingId, events, treeSize, sha256, disclosed }) => {
      const personal = disclosed.length === 0 ? 'no personal data' : disclosed.join(', ')
      const proven = `${counted(events, 'event')} about the transfer ${trackingId} at a tree size of ${treeSize}`
      return `${escapedLines(`${file} proves ${proven}, and discloses ${personal}.`)}\nSHA-256  ${sha256}\n`
    },
  })
  addDisclosureCommands(audit)
}

function addDisclosureCommands(audit: Command): void {
  const disclosure = audit.command('disclosure').description('decide which personal data evidence packages disclose')
  const requesting = 'request that packages of a transfer disclose personal data; another person must approve it'
  defineCommand(disclosure, 'request <trackingId>', requesting, {
    examples: [
      '7b0f2c1e --disclose name --reason "audit of November"',
      '7b0f2c1e --disclose name,account --reason "court order 2026/118"',
    ],
    options: {
      disclose: required(words('the personal data')),
      reason: required(option('<text>', 'for auditors', reason)),
    },
    async run(stores, { disclose, reason }, trackingId: string) {
      await requireTransfer(stores, trackingId)
      const { commands } = await packagesOf(stores)
      accepted(await commands.request(trackingId, disclose, reason, stores.context))
      return shownDisclosure(stores, trackingId)
    },
    ...shown,
  })
  for (const decision of ['Approve', 'Reject'] as const) {
    const name = decision.toLowerCase()
    defineCommand(
      disclosure,
      `${name} <trackingId> <requestId>`,
      `${name} the request of ${decision === 'Approve' ? 'another' : 'a'} person`,
      {
        examples: ['7b0f2c1e 1d7b6a0e', '7b0f2c1e 1d7b6a0e-3f0c-4c0e-9a54-7d1f6f8f2b11 --json'],
        async run(stores, _, trackingId: string, requestId: string) {
          const { commands } = await packagesOf(stores)
          const latest = await commands.disclosure(trackingId)
          const id = latest && isBeginningOf(latest.requestId, requestId) ? latest.requestId : requestId
          accepted(await commands.decide(trackingId, id, decision, stores.context))
          return shownDisclosure(stores, trackingId)
        },
        ...shown,
      },
    )
  }
  defineCommand(disclosure, 'show <trackingId>', 'the latest request of a transfer', {
    examples: ['7b0f2c1e', '7b0f2c1e --json'],
    run: (stores, _, trackingId: string) => shownDisclosure(stores, trackingId),
    ...shown,
  })
}

/** Returns the latest request with the names of its people. @throws Refused without a request */
async function shownDisclosure(stores: CommandStores, trackingId: string) {
  const found = await (await packagesOf(stores)).commands.disclosure(trackingId)
  if (!found) throw refusedBy(violate('unknown-disclosure'))
  const names = await namesOf(stores)
  const { by, decidedBy } = found
  const document = {
    ...{ trackingId, ...found, byName: names.actorName(by) },
    decidedByName: decidedBy && names.actorName(decidedBy),
  }
  return { document, names }
}

/** How the commands print a request. */
const shown = {
  json: ({ document }: ShownDisclosure) => document,
  text({ document, names }: ShownDisclosure) {
    const { trackingId, requestId, disclose, reason, by, requestedAt, state, decidedBy, decidedAt, isInForce } =
      document
    return fieldTable(
      {
        ...{ trackingId, requestId, disclose: disclose.join(', '), reason, requestedBy: by, requestedAt },
        ...{ state, decidedBy, decidedAt, inForce: isInForce },
      },
      names,
    )
  },
}
type ShownDisclosure = Awaited<ReturnType<typeof shownDisclosure>>

/** Returns whether a text is an id, or its first characters as other commands accept them. */
function isBeginningOf(id: string, text: string): boolean {
  const prefix = storedUuidPrefix(text)
  return prefix !== undefined && prefix.length >= shortIdLength && id.startsWith(prefix)
}

async function packagesOf(stores: CommandStores) {
  const { evidencePackages } = await import('../operations/audit/audit-tree.js')
  return evidencePackages(stores.configuration, stores, stores.clock)
}

/** @throws Refused */
async function requireTransfer({ eventStore }: CommandStores, trackingId: string): Promise<void> {
  const { transferStream } = await import('../domain/streams.js')
  const [created] = await eventStore.readStream(transferStream(trackingId), { maxCount: 1 })
  if (!created) throw refusedBy(violate('unknown-transfer'))
}

/** @throws Refused */
function madeOf(made: EvidenceOutcome): Extract<EvidenceOutcome, { outcome: 'made' }> {
  if (made.outcome === 'made') return made
  if (made.outcome === 'refused') throw refusedBy(made.refusal)
  if (made.outcome === 'unverified') throw refusedBy(violate('not-verified', { problem: made.reason }))
  if (made.outcome === 'unknown') throw refusedBy(violate('unknown-transfer'))
  throw new Refused('not-sealed', 'No checkpoint covers this transfer yet: the next one is signed within a minute.')
}

/** Reads the checkpoint of an earlier package, or a checkpoint file. @throws UsageError */
async function checkpointOf(path: string): Promise<string> {
  if (!path.endsWith('.zip')) return checkpointIn(path)
  const { checkpointInPackage } = await import('../audit/evidence/evidence-package.js')
  try {
    return checkpointInPackage(readFileSync(path))
  } catch (error) {
    throw new UsageError(`${path} is not an evidence package: ${(error as Error).message}`)
  }
}
