import { useQuery } from '@tanstack/react-query'
import { CircleAlert, CircleCheck, Hand, type LucideIcon, Stethoscope, UserCheck, Webhook } from 'lucide-react'
import type { ReactNode } from 'react'
import { useActorName } from '../../app/actor-names'
import { useText } from '../../app/texts'
import { Button, ButtonLink } from '../../components/Button'
import { Card } from '../../components/Card'
import { Loading } from '../../components/Loaded'
import { Time } from '../../components/Time'
import { useEndpoints } from '../callbacks/use-endpoints'
import { checksQuery, projectionsQuery, stuckQuery } from './operations-queries'

interface Shown {
  readonly id: string
  readonly icon: LucideIcon
  readonly tone: 'bad' | 'person' | 'second'
  readonly title: string
  readonly help: ReactNode
  readonly action: ReactNode
}

/** Lists everything that needs a user's attention, the most urgent first. */
export function OperationsProblems() {
  const text = useText()
  const problems = [...useStoppedProjections(), ...useFailingEndpoints(), ...useFailedChecks(), ...useStuck()]
  problems.sort((a, b) => Number(b.tone === 'bad') - Number(a.tone === 'bad'))
  // Shown together, so that a late problem does not move the page, and the absence of problems is certain.
  const queries = [useQuery(projectionsQuery), useQuery(stuckQuery), useEndpoints(), useQuery(checksQuery)]
  if (queries.some(({ isPending }) => isPending)) return <Loading />
  if (problems.length === 0) {
    // The parts of the page that could not be read show their errors.
    if (queries.some(({ data }) => data === undefined)) return null
    return (
      <output className="Operations-well">
        <CircleCheck />
        {text('operations.noProblems')}
      </output>
    )
  }
  return (
    <Card title={text('operations.problems', { count: problems.length })}>
      <ul className="Operations-urgent">
        {problems.map(({ id, icon: Icon, tone, title, help, action }) => (
          <li key={id}>
            <span className={`Operations-mark Operations-${tone}`}>
              <Icon />
            </span>
            <div>
              <strong>{title}</strong>
              <p className="muted">{help}</p>
            </div>
            {action}
          </li>
        ))}
      </ul>
    </Card>
  )
}

function useStoppedProjections(): readonly Shown[] {
  const text = useText()
  const actorName = useActorName()
  const { data } = useQuery(projectionsQuery)
  return (data?.items ?? []).flatMap(({ name, state, failure, paused }) => {
    if (state !== 'failed' && state !== 'paused' && state !== 'outdated') return []
    return {
      id: `projection ${name}`,
      icon: CircleAlert,
      tone: state === 'failed' ? ('bad' as const) : ('person' as const),
      title: text(`operations.problem.${state}`, { projection: name }),
      help: (
        <>
          {failure && <bdi lang="en">{failure.reason} </bdi>}
          {paused && <bdi>{[actorName(paused.by), paused.reason].filter(Boolean).join(': ')} </bdi>}
          {(failure ?? paused) && <Time at={(failure ?? paused)!.at} />}
        </>
      ),
      action: <Go to="projections" />,
    }
  })
}

function useFailingEndpoints(): readonly Shown[] {
  const text = useText()
  const { data } = useEndpoints()
  const failing = (data?.items ?? []).filter(({ state }) => state === 'failing')
  if (failing.length === 0) return []
  return [
    {
      id: 'endpoints',
      icon: Webhook,
      tone: 'bad',
      title: text('operations.problem.endpoints', { count: failing.length }),
      help: failing
        .map(({ merchantName, waiting, parked }) => text('operations.endpointFails', { merchantName, waiting, parked }))
        .join(' · '),
      action: <ButtonLink to="/callbacks">{text('callbacks.title')}</ButtonLink>,
    },
  ]
}

function useFailedChecks(): readonly Shown[] {
  const text = useText()
  const { data } = useQuery(checksQuery)
  const failed = (data?.checks ?? []).filter(({ result }) => result === 'failed')
  if (failed.length === 0) return []
  return [
    {
      id: 'checks',
      icon: Stethoscope,
      tone: 'bad',
      title: text('operations.problem.checks', { count: failed.length }),
      help: failed.map(({ name }) => name).join(', '),
      action: <Go to="checks" />,
    },
  ]
}

function useStuck(): readonly Shown[] {
  const text = useText()
  const { data } = useQuery(stuckQuery)
  return (data?.reasons ?? [])
    .filter(({ count }) => count > 0)
    .map(({ reason, count, more }) => ({
      id: reason,
      icon: reason === 'awaiting-approval' ? UserCheck : Hand,
      tone: reason === 'awaiting-approval' ? ('second' as const) : ('person' as const),
      title: `${text('operations.problem.stuck', { count })}${more ? '+' : ''}: ${text(`operations.stuck.${reason}`)}`,
      help: (
        <>
          {text('operations.oldest')} <Time at={data!.items.find((item) => item.reason === reason)!.since} />
        </>
      ),
      action: <Go to="stuck" />,
    }))
}

/** Moves to a part of the page. */
function Go({ to }: { readonly to: 'projections' | 'checks' | 'stuck' }) {
  const text = useText()
  const go = () => document.getElementById(`operations-${to}`)?.scrollIntoView({ block: 'start' })
  return <Button onPress={go}>{text('operations.show')}</Button>
}
