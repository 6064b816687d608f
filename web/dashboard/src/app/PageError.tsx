import { Button } from '../components/Button'
import { Empty } from '../components/Empty'
import { useText } from './texts'

/** Shown when a page throws, or when a part of it can no longer be loaded because a new version is served. */
export function PageError() {
  const text = useText()
  return (
    <div role="alert">
      <Empty title={text('errors.crashed')}>
        <p>{text('errors.crashedHelp')}</p>
        <Button look="primary" onPress={() => location.reload()}>
          {text('errors.reload')}
        </Button>
      </Empty>
    </div>
  )
}
