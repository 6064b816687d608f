import { accept, type Decider, type Decision } from '../decision.js'

/** How a merchant's callback endpoint has been doing, stream `callbacks-endpoint-<merchantId>`: what outlasts a restart. */

/** Nothing but failures for a while; a single failure is not written down. */
export interface CallbackEndpointFailing {
  readonly type: 'CallbackEndpointFailing'
  /** `since`: the first of these failures, ISO 8601. */
  readonly data: { readonly merchantId: string; readonly since: string; readonly at: string }
}

export interface CallbackEndpointRecovered {
  readonly type: 'CallbackEndpointRecovered'
  readonly data: { readonly merchantId: string; readonly at: string }
}

export type EndpointEvent = CallbackEndpointFailing | CallbackEndpointRecovered

export interface EndpointState {
  /** ISO 8601; null while it answers. */
  readonly failingSince: string | null
}

export type EndpointCommand =
  | { readonly type: 'NoteFailing'; readonly merchantId: string; readonly since: string; readonly at: string }
  | { readonly type: 'NoteRecovered'; readonly merchantId: string; readonly at: string }

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
