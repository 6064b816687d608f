import { accept, type Decider, type Decision } from '../../kernel/decision.js'
import type { EventsOf } from '../event.js'

/** How a merchant's callback endpoint has been doing, stream `callbacks-endpoint-<merchantId>`: what outlasts a restart. */

interface Common {
  readonly merchantId: string
  readonly at: string
}

export type EndpointEvent = EventsOf<{
  /** Nothing but failures since then (ISO 8601); a single failure is not written down. */
  CallbackEndpointFailing: Common & { since: string }
  CallbackEndpointRecovered: Common
}>

interface EndpointState {
  /** ISO 8601; null while it answers. */
  readonly failingSince: string | null
}

type EndpointCommand =
  | (Common & { readonly type: 'NoteFailing'; readonly since: string })
  | (Common & { readonly type: 'NoteRecovered' })

export const endpointDecider: Decider<EndpointState, EndpointCommand, EndpointEvent> = {
  initialState: { failingSince: null },
  decide,
  evolve,
}

function decide(command: EndpointCommand, { failingSince }: EndpointState): Decision<EndpointEvent> {
  const { type, ...data } = command
  switch (command.type) {
    case 'NoteFailing':
      return failingSince === null
        ? accept({ type: 'CallbackEndpointFailing', data: { ...data, since: command.since } })
        : accept()
    case 'NoteRecovered':
      return failingSince === null ? accept() : accept({ type: 'CallbackEndpointRecovered', data })
    default:
      return command satisfies never
  }
}

function evolve(_state: EndpointState, event: EndpointEvent): EndpointState {
  switch (event.type) {
    case 'CallbackEndpointFailing':
      return { failingSince: event.data.since }
    case 'CallbackEndpointRecovered':
      return { failingSince: null }
    default:
      return event satisfies never
  }
}
