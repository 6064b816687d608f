import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { parseCheckpoint, parseNote } from '@transferd/transparency-log'
import {
  type IntegrityStatus,
  integrityStatus,
  requestVerification,
} from '../../../audit/integrity/integrity-status.js'
import { IntegrityCommands } from '../../../commands/integrity/integrity-commands.js'
import { violate } from '../../../domain/decider.js'
import { storedTrackingId } from '../../query-parameters.js'
import { accepted, RequestError } from '../../refusals.js'
import { TransferParams as params } from '../api.js'
import { sendFile } from '../downloads.js'
import { actorNames, userContext } from '../session-guard.js'
import { AuditIntegrityResponse, AuditVerifyResponse, ResumePayoutsBody, ResumePayoutsResponse } from './audit-api.js'
import { checkedReason } from './audit-reason.js'

const noStatus = { verifierKey: null, verifications: [], problems: [] }

/** Adds the routes that verify the log and resume payouts. */
export const auditIntegrityRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { eventStore, readModels, clock, proofOf } = app.services
  const { viewers } = app
  const read = viewers.allow('audit:read')
  const commands = new IntegrityCommands(eventStore, clock)
  app.get('/audit/integrity', read({}, AuditIntegrityResponse), async (request) => {
    const [status, { state, revision }, stopped, resumed] = await Promise.all([
      integrityStatus(readModels),
      commands.read(),
      commands.lastDecision('PayoutsStopped'),
      commands.lastDecision('PayoutsResumed'),
    ])
    const { stoppedSince, stop, restored, findings } = state
    const named = (decision: typeof resumed) =>
      decision ? { ...decision, byName: actorNames(request)(decision.by) } : null
    const { verifierKey, verifications, problems } = status ?? noStatus
    return {
      checkpoint: status ? checkpointOf(status) : null,
      verifierKey,
      verifications,
      problems,
      payoutsStopped:
        stoppedSince === null || revision === 'no_stream'
          ? null
          : { since: stoppedSince, findings, stop: stop && named(stopped), restored, revision },
      resumed: named(resumed),
    }
  })
  app.post('/audit/verify', viewers.allow('audit:verify')({}, AuditVerifyResponse), async () => {
    const running = (await integrityStatus(readModels))?.verifications[0]
    const started = !(running?.occasion === 'requested' && running.finishedAt === null)
    if (started) await requestVerification(readModels, clock())
    return { started }
  })
  const resume = viewers.allow('integrity:resume')({ body: ResumePayoutsBody }, ResumePayoutsResponse)
  app.post('/audit/resume-payouts', resume, async (request) => {
    const reason = checkedReason(request.body.reason)
    const result = await commands.resumePayouts(reason, request.body.revision, userContext(request))
    return { changed: accepted('event', result, actorNames(request)).changed }
  })
  app.get('/audit/proof/:trackingId', read({ params }), async (request, reply) => {
    const trackingId = storedTrackingId(request.params.trackingId)
    const made = await proofOf(trackingId)
    if (made.outcome === 'unknown') throw new RequestError('unknown-transfer')
    if (made.outcome === 'not-sealed') throw new RequestError('not-sealed')
    if (made.outcome === 'unverified') {
      throw new RequestError('not-verified', { violation: violate('not-verified', { problem: made.reason }) })
    }
    return sendFile(reply, `proof-${trackingId}.json`, 'application/json; charset=utf-8', made.proof)
  })
}

function checkpointOf(status: IntegrityStatus): AuditIntegrityResponse['checkpoint'] {
  const { note, signedAt, witnesses } = status
  if (note === null) return null
  const { origin, size, root } = parseCheckpoint(parseNote(note).text)
  return { origin, treeSize: size, root: root.toString('base64'), signedAt: signedAt ?? '', note, witnesses }
}
