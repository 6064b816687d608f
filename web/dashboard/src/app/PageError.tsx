import { Button } from '../components/Button'
import { Empty } from '../components/Empty'
import { useText } from './texts'

/** A fault in a page, or a part of it that can no longer be fetched since a new version is served. */
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
