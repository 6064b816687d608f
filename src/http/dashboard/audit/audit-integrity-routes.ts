import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Static } from '@sinclair/typebox'
import { parseCheckpoint, parseNote } from '@transferd/transparency-log'
import {
  type IntegrityStatus,
  integrityStatus,
  requestVerification,
} from '../../../audit/integrity/integrity-status.js'
import type { ProofOutcome } from '../../../audit/proofs/prove-transfer.js'
import { IntegrityCommands } from '../../../commands/integrity/integrity-commands.js'
import type { UserDirectory } from '../../../commands/user/user-commands.js'
import type { EventStore } from '../../../event-store/event-store.js'
import { violate } from '../../../kernel/rules.js'
import { isVisible } from '../../../kernel/text.js'
import type { Clock } from '../../../kernel/time.js'
import { Type } from '../../../kernel/typebox.js'
import type { ReadModels } from '../../../read-models/read-models.js'
import { invalid, RequestError } from '../../refusals.js'
import { streamId } from '../../v1/own-transfer.js'
import { actorNames } from '../actor-names.js'
import { contextOf } from '../session-guard.js'
import { AuditIntegrityAnswer, AuditVerifyAnswer, ResumePayoutsAnswer, ResumePayoutsBody } from './audit-api.js'

export interface AuditIntegrityOptions {
  readonly eventStore: EventStore
  readonly readModels: ReadModels
  readonly userDirectory: UserDirectory
  readonly clock: Clock
  readonly proofOf: (trackingId: string) => Promise<ProofOutcome>
}

/** Adds the routes that verify the log and resume payouts. */
export const auditIntegrityRoutes: FastifyPluginAsyncTypebox<AuditIntegrityOptions> = async (app, options) => {
  const { eventStore, readModels, userDirectory, clock, proofOf } = options
  const commands = new IntegrityCommands(eventStore, clock)
  app.route({
    method: 'GET',
    url: '/audit/integrity',
    ...app.viewers.allow('audit:read'),
    schema: { hide: true, response: { 200: AuditIntegrityAnswer } },
    handler: async (request) => {
      const [status, { stoppedSince, findings }, resumed] = await Promise.all([
        integrityStatus(readModels),
        commands.state(),
        commands.lastResumed(),
      ])
      const nameOf = actorNames(userDirectory, request.viewer)
      return {
        ...viewOf(status),
        payoutsStopped: stoppedSince === null ? null : { since: stoppedSince, findings: [...findings] },
        resumed: resumed ? { ...resumed, byName: nameOf(resumed.by) } : null,
      }
    },
  })
  app.route({
    method: 'POST',
    url: '/audit/verify',
    ...app.viewers.allow('audit:verify'),
    schema: { hide: true, response: { 200: AuditVerifyAnswer } },
    handler: async () => {
      const running = (await integrityStatus(readModels))?.verifications[0]
      const started = !(running?.occasion === 'asked' && running.finishedAt === null)
      if (started) await requestVerification(readModels, clock())
      return { started }
    },
  })
  app.route({
    method: 'POST',
    url: '/audit/resume-payouts',
    ...app.viewers.allow('integrity:resume', { recent: true }),
    schema: { hide: true, body: ResumePayoutsBody, response: { 200: ResumePayoutsAnswer } },
    handler: async (request) => {
      const reason = request.body.reason.trim()
      if (reason === '') throw invalid('reason', 'blank')
      if (!isVisible(reason)) throw invalid('reason', 'hidden-characters')
      return commands.resumePayouts(reason, contextOf(request))
    },
  })
  app.route({
    method: 'GET',
    url: '/audit/proof/:trackingId',
    ...app.viewers.allow('audit:read'),
    schema: { hide: true, params: Type.Object({ trackingId: Type.String() }) },
    handler: async (request, reply) => {
      const trackingId = streamId(request.params.trackingId)
      const made = await proofOf(trackingId)
      if (made.outcome === 'unknown') throw new RequestError('unknown-transfer')
      if (made.outcome === 'not-sealed') throw new RequestError('not-sealed')
      if (made.outcome === 'unverified')
        throw new RequestError('not-verified', { violation: violate('not-verified', { problem: made.reason }) })
      reply.header('content-disposition', `attachment; filename="proof-${trackingId}.json"`)
      return reply.type('application/json; charset=utf-8').send(made.proof)
    },
  })
}

type Shown = Static<typeof AuditIntegrityAnswer>

function viewOf(status: IntegrityStatus | undefined): Omit<Shown, 'payoutsStopped' | 'resumed'> {
  if (!status) return { checkpoint: null, verifierKey: null, verifications: [], troubles: [] }
  const { verifierKey, verifications, troubles } = status
  return {
    checkpoint: checkpointOf(status),
    verifierKey,
    verifications: verifications.map((each) => ({ ...each, findings: [...each.findings] })),
    troubles: [...troubles],
  }
}

function checkpointOf({ note, signedAt, witnesses }: IntegrityStatus): Shown['checkpoint'] {
  if (note === null) return null
  const { origin, size, root } = parseCheckpoint(parseNote(note).text)
  return {
    origin,
    treeSize: size,
    root: root.toString('base64'),
    signedAt: signedAt ?? '',
    note,
    witnesses: [...witnesses],
  }
}
