import type {
  ProjectionComparison,
  ProjectionItem,
  ProjectionTask,
} from '../../../../../src/http/dashboard/operations/operations-api'
import { useActorName } from '../../app/actor-names'
import { useText } from '../../app/texts'
import { Badge, type Tone } from '../../components/Badge'
import { CopyableId } from '../../components/Copyable'
import { useDuration } from '../../components/Duration'
import { Time } from '../../components/Time'

const tones: { readonly [state in ProjectionItem['state']]: Tone } = {
  current: 'good',
  behind: 'wait',
  failed: 'bad',
  paused: 'person',
  outdated: 'person',
  new: 'accent',
}

export function ProjectionState({ projection }: { readonly projection: ProjectionItem }) {
  const text = useText()
  const actorName = useActorName()
  const { state, paused, failure } = projection
  return (
    <>
      <Badge tone={tones[state]}>{text(`operations.state.${state}`)}</Badge>
      {paused && (
        <span className="small">
          <bdi>{actorName(paused.by)}</bdi> · <Time at={paused.at} />
          {paused.reason !== null && <bdi className="Operations-reason">{paused.reason}</bdi>}
        </span>
      )}
      {failure && (
        <span className="small">
          <bdi lang="en">{failure.reason}</bdi>{' '}
          {failure.stream !== null && failure.revision !== null && (
            <code>{`${failure.stream}@${failure.revision}`}</code>
          )}{' '}
          <Time at={failure.at} />
          {failure.command !== null && <CopyableId value={failure.command} label={text('operations.command')} />}
        </span>
      )}
    </>
  )
}

/** Whether a task ended without anything that a person should know. */
export function isOver({ state, reason, comparison }: ProjectionTask): boolean {
  return state === 'done' && reason === null && (comparison === null || comparison.differing === 0)
}

/** Shows the last task of a projection: its step, or its outcome. */
export function Task({ task }: { readonly task: ProjectionTask }) {
  const text = useText()
  const actorName = useActorName()
  const { what, state, phase, by, updatedAt, reason, comparison } = task
  const status = phase === null ? text(`operations.taskState.${state}`) : text(`operations.phase.${phase}`)
  return (
    <div className="stack-tight small">
      <span>
        {text(`operations.task.${what}`)} · {status} · <bdi>{actorName(by)}</bdi> · <Time at={updatedAt} />
      </span>
      {reason !== null && (
        <bdi className="Operations-reason" lang="en">
          {reason}
        </bdi>
      )}
      {comparison && <Comparison comparison={comparison} />}
    </div>
  )
}

export function Progress({ task, name }: { readonly task: ProjectionTask; readonly name: string }) {
  const text = useText()
  const duration = useDuration()
  const { progress, eventsPerSecond, secondsLeft, phase } = task
  if (progress === null) return null
  // The time left is known only while events are read.
  const isReading = phase === 'building'
  return (
    <>
      <progress
        className="Operations-progress"
        max={1}
        value={progress}
        aria-label={text('operations.progressOf', { projection: name })}
      />
      <span className="muted">
        {text('operations.progress', { progress })}
        {!isReading && phase !== null && ` · ${text(`operations.phase.${phase}`)}`}
        {isReading && eventsPerSecond !== null && ` · ${text('operations.rate', { events: eventsPerSecond })}`}
        {isReading &&
          secondsLeft !== null &&
          ` · ${text('operations.timeLeft', { time: duration(secondsLeft * 1000) })}`}
      </span>
    </>
  )
}

function Comparison({ comparison }: { readonly comparison: ProjectionComparison }) {
  const text = useText()
  const { compared, differing, differences } = comparison
  return (
    <span>
      <Badge tone={differing === 0 ? 'good' : 'bad'}>
        {text(differing === 0 ? 'operations.identical' : 'operations.differing', { compared, differing })}
      </Badge>
      {differences.length > 0 && <code className="Operations-reason">{differences.join(', ')}</code>}
    </span>
  )
}

/** Shows the new version that is ready to switch to, and the previous version that can be restored. */
export function OtherVersions({ projection: { built, previous, task } }: { readonly projection: ProjectionItem }) {
  const text = useText()
  const isShownByTask = task !== null && !isOver(task) && task.comparison !== null
  return (
    <>
      {built && (
        <span className="small">
          {text('operations.built')} <Time at={built.at} />{' '}
          {built.comparison && !isShownByTask && <Comparison comparison={built.comparison} />}
        </span>
      )}
      {previous && (
        <span className="muted small">
          {text('operations.previous')} <Time at={previous.at} />
        </span>
      )}
    </>
  )
}
