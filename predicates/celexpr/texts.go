package celexpr

import (
	"context"
	"errors"

	"github.com/google/cel-go/common/types"
)

// textShare is the part of an evaluation's time that its texts may take together.
const textShare = 4

// budget is what an evaluation has used of its limits. Texts have one of their
// own, as large in cost: a rule with `for` gets its message long before it
// decides, and a message must not keep later rules from being judged.
type budget struct {
	ctx    context.Context
	cancel context.CancelFunc
	spent  uint64
}

// beginText puts the budget of texts in the place of that of conditions.
func (ev *Evaluation) beginText() {
	if ev.texts.ctx == nil {
		ev.texts.ctx = ev.ctx
	}
	ev.swapBudgets()
	ev.inText = true
}

// endText undoes beginText. What a variable couldn't be for lack of budget is
// forgotten: a condition may still afford it.
func (ev *Evaluation) endText(err *Error) {
	ev.swapBudgets()
	ev.inText = false
	if err == nil || err.Kind != LimitExceeded {
		return
	}
	for i, v := range ev.memo {
		failed, ok := v.(*types.Err)
		var limit *Error
		if ok && errors.As(failed, &limit) && limit.Kind == LimitExceeded {
			ev.memo[i] = nil
		}
	}
}

func (ev *Evaluation) swapBudgets() {
	now := budget{ev.ctx, ev.cancel, ev.spent}
	ev.ctx, ev.cancel, ev.spent = ev.texts.ctx, ev.texts.cancel, ev.texts.spent
	ev.texts = now
}
