import { useBlocker } from '@tanstack/react-router'
import { useText } from '../app/texts'
import { Button } from './Button'
import { Confirm } from './Confirm'
import './SaveBar.css'

interface SaveBarProps {
  /** The number of changes that are not saved. */
  readonly count: number
  readonly pending: boolean
  readonly onDiscard: () => void
}

/** Sticks to the bottom of a form while it has unsaved changes, and asks before the user leaves the page with them. */
export function SaveBar({ count, pending, onDiscard }: SaveBarProps) {
  const text = useText()
  const hasChanges = count > 0
  const leaving = useBlocker({
    shouldBlockFn: ({ current, next }) => hasChanges && current.pathname !== next.pathname,
    enableBeforeUnload: hasChanges,
    withResolver: true,
  })
  if (!hasChanges) return null
  return (
    <div className="SaveBar">
      <output>{text('common.unsaved', { count })}</output>
      <Button look="quiet" onPress={onDiscard} isDisabled={pending}>
        {text('common.discard')}
      </Button>
      <Button type="submit" look="primary" pending={pending}>
        {text('common.save')}
      </Button>
      <Confirm
        title={text('common.leaveTitle')}
        open={leaving.status === 'blocked'}
        onClose={() => leaving.reset?.()}
        onConfirm={() => leaving.proceed?.()}
        confirm={text('common.leave')}
        stay={text('common.stay')}
        danger
      >
        <p>{text('common.leaveHelp', { count })}</p>
      </Confirm>
    </div>
  )
}
